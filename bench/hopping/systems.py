"""What is compared: planners over the services, and single searches that send the reranker more or less."""

from dataclasses import dataclass, replace

from citemesh.client import Mesh
from citemesh.client.types import Judge, Question
from citemesh.errors import NotSupported
from citemesh.kit.settings import load
from gateway.query.answers.record import Record
from gateway.query.answers.transcript import Transcript
from gateway.query.deadline import Deadline
from gateway.query.flow import nowhere
from gateway.query.model.catalog import Models
from gateway.query.model.structured import Structured
from gateway.query.plan.bridge import Bridge
from gateway.query.plan.model_planner import ModelPlanner
from gateway.query.plan.plan import Plan
from gateway.query.plan.planner import Planner, SingleShot
from gateway.query.ports import RerankerPort
from gateway.query.request import Request
from gateway.query.retrieve.gathering import Gatherer
from gateway.query.retrieve.ranking import Ranker
from gateway.query.retrieve.search import Searcher
from gateway.query.telemetry import Steps
from gateway.settings import GatewaySettings

BASE = "single"
BY_MODEL = ("model", "model alone")
SYSTEMS = (BASE, "bridge, 2 hops", "bridge, 3 hops", "single, all sent", "single, not cited", *BY_MODEL)
ASK_S = 60.0


class Mute:
    """A reranker that doesn't say which model judges."""

    def __init__(self, reranker: RerankerPort) -> None:
        self.rerank, self.attribute = reranker.rerank, reranker.attribute

    async def model(self) -> Judge:
        """Raises NotSupported, as one that is older than the question."""
        raise NotSupported("GetModel")


@dataclass(frozen=True, slots=True)
class System:
    """A planner over the services, and the most hops that it may take."""

    gatherer: Gatherer
    hops: int
    cites: bool = True


def system(name: str, mesh: Mesh) -> System:
    """A system by its name."""
    settings, structured = load(GatewaySettings), structured_of(mesh)
    planners: dict[str, Planner] = {
        "bridge, 2 hops": Bridge(),
        "bridge, 3 hops": Bridge(),
        "model": ModelPlanner(structured, Bridge()),
        "model alone": ModelPlanner(structured, SingleShot()),
    }
    reranker = Mute(mesh.reranker) if name == "single, all sent" else mesh.reranker
    planner = planners.get(name, SingleShot())
    gatherer = Gatherer(Searcher(mesh.retrieval), Ranker(reranker, settings.limits), planner, settings.limits)
    hops = 1 if name not in planners else 3 if "3" in name else 2
    return System(gatherer, hops, name != "single, not cited")


def structured_of(mesh: Mesh) -> Structured:
    """Small decisions by the language model, as the gateway asks for them."""
    return Structured(mesh.tokenizer, mesh.generation, Models(mesh.generation), load(GatewaySettings).decide_s)


async def gather(system: System, question: Question) -> tuple[list[str], int]:
    """Documents, best first, and how many searches were made."""
    plan = Plan(question.question, (question.question,))
    asked = replace(question, max_hops=system.hops)
    request = Request(asked, plan, Deadline.after(ASK_S), cites=system.cites)
    gathered = await system.gatherer.gather(request, Record(Transcript(nowhere), Steps(0.0)))
    return [scored.passage.document_id for scored in gathered.ranking.passages], gathered.searches
