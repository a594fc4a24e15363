"""Token vectors kept within a limit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from services.reranker.token_vectors.cache import EncodedText, VectorCache, text_key


def entry(tokens: int) -> EncodedText:
    return EncodedText(np.zeros(tokens, np.int64), np.zeros(tokens, np.int64), np.zeros((tokens, 128), np.float16))


def test_the_least_recently_used_goes_first() -> None:
    cache = VectorCache(3 * entry(10).nbytes)
    for name in (b"a", b"b", b"c"):
        cache.put(name, entry(10))
    assert cache.get(b"a") is not None
    cache.put(b"d", entry(10))
    assert cache.get(b"b") is None
    assert all(cache.get(name) for name in (b"a", b"c", b"d"))
    assert cache.nbytes <= 3 * entry(10).nbytes


def test_what_is_larger_than_the_cache_is_not_kept() -> None:
    cache = VectorCache(1000)
    cache.put(b"a", entry(100))
    assert len(cache) == cache.nbytes == 0


def test_replacing_does_not_count_twice() -> None:
    cache = VectorCache(10**6)
    cache.put(b"a", entry(10))
    cache.put(b"a", entry(20))
    assert (len(cache), cache.nbytes) == (1, entry(20).nbytes)


def test_keys_tell_texts_apart() -> None:
    texts = ["", "a", "A", "é", "e\u0301", "\ud800", "😀"]
    assert len({text_key(text) for text in texts}) == len(texts)


def test_threads_leave_it_consistent() -> None:
    cache = VectorCache(20 * entry(5).nbytes)

    def work(n: int) -> None:
        for i in range(200):
            cache.put(str((n * i) % 50).encode(), entry(5))
            cache.get(str(i % 50).encode())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert cache.nbytes == len(cache) * entry(5).nbytes <= 20 * entry(5).nbytes
