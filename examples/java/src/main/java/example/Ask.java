package example;

import citemesh.api.query.v1.QueryServiceGrpc;
import citemesh.api.query.v1.QueryServiceOuterClass.AskRequest;
import citemesh.api.query.v1.QueryServiceOuterClass.AskResponse;
import citemesh.api.query.v1.QueryServiceOuterClass.Citation;
import citemesh.api.query.v1.QueryServiceOuterClass.Source;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Asks CiteMesh a question over gRPC: CITEMESH_KEY=cm_… mvn -q compile exec:java -Dexec.args="What is a sidecar?" */
public final class Ask {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  public static void main(String[] arguments) {
    String question = arguments.length > 0 ? String.join(" ", arguments) : "How does a policy change reach a sidecar?";
    String target = System.getenv().getOrDefault("CITEMESH_TARGET", "127.0.0.1:8080");
    ManagedChannel channel = Grpc.newChannelBuilder(target, InsecureChannelCredentials.create()).build();
    try {
      show(ask(channel, question));
    } catch (StatusRuntimeException error) {
      System.err.println(error.getStatus().getCode() + ": " + error.getStatus().getDescription());
      System.exit(1);
    } finally {
      channel.shutdownNow();
    }
  }

  private static Iterator<AskResponse> ask(ManagedChannel channel, String question) {
    Metadata headers = new Metadata();
    headers.put(AUTHORIZATION, "Bearer " + System.getenv("CITEMESH_KEY"));
    return QueryServiceGrpc.newBlockingStub(channel)
        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
        .withDeadlineAfter(60, TimeUnit.SECONDS)
        .ask(AskRequest.newBuilder().setQuestion(question).build());
  }

  /** Prints text as it comes, the numbers behind each sentence, and the sources at the end. */
  private static void show(Iterator<AskResponse> events) {
    Map<Integer, Source> sources = new HashMap<>();
    while (events.hasNext()) {
      AskResponse event = events.next();
      switch (event.getEventCase()) {
        case SOURCES -> event.getSources().getSourcesList().forEach(one -> sources.put(one.getNumber(), one));
        case DELTA -> System.out.print(event.getDelta().getText());
        case CITATION -> {
          for (Citation citation : event.getCitation().getCitationsList()) {
            System.out.print("[" + citation.getNumber() + "]");
          }
        }
        case DONE -> {
          System.out.println();
          for (int number : event.getDone().getCitedList()) {
            Source source = sources.get(number);
            System.out.println("[" + number + "] " + source.getTitle() + "  " + source.getUri());
          }
        }
        default -> { }
      }
    }
  }

  private Ask() {}
}
