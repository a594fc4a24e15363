// Asks CiteMesh a question over gRPC from Go.
//
// From the project's root, once:
//
//	buf generate --template examples/go/stubs.gen.yaml -o examples/go
//
// Then here:
//
//	go mod tidy
//	CITEMESH_KEY=cm_… go run . "How does a policy change reach a sidecar?" [host:port]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	queryv1 "example.com/citemesh/citemesh/api/query/v1"
)

func main() {
	question, target := "How does a policy change reach a sidecar?", "127.0.0.1:8080"
	if len(os.Args) > 1 {
		question = os.Args[1]
	}
	if len(os.Args) > 2 {
		target = os.Args[2]
	}
	if err := ask(question, target); err != nil {
		log.Fatalf("%s: %s", status.Code(err), status.Convert(err).Message())
	}
}

func ask(question, target string) error {
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+os.Getenv("CITEMESH_KEY"))
	events, err := queryv1.NewQueryServiceClient(connection).Ask(ctx, &queryv1.AskRequest{Question: question})
	if err != nil {
		return err
	}
	return show(events)
}

// show prints text as it comes, the numbers behind each sentence, and the sources at the end.
func show(events queryv1.QueryService_AskClient) error {
	sources := map[int32]*queryv1.Source{}
	for {
		event, err := events.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch one := event.Event.(type) {
		case *queryv1.AskResponse_Sources:
			for _, source := range one.Sources.Sources {
				sources[source.Number] = source
			}
		case *queryv1.AskResponse_Delta:
			fmt.Print(one.Delta.Text)
		case *queryv1.AskResponse_Citation:
			for _, citation := range one.Citation.Citations {
				fmt.Printf("[%d]", citation.Number)
			}
		case *queryv1.AskResponse_Done:
			fmt.Println()
			for _, number := range one.Done.Cited {
				fmt.Printf("[%d] %s  %s\n", number, sources[number].Title, sources[number].Uri)
			}
		}
	}
}
