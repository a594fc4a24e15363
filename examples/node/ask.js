// Asks CiteMesh a question over gRPC from Node.js, with stubs made at run time from the project's protos.
//
//   npm install
//   CITEMESH_KEY=cm_… node ask.js "How does a policy change reach a sidecar?" [host:port]

import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const question = process.argv[2] ?? "How does a policy change reach a sidecar?";
const target = process.argv[3] ?? "127.0.0.1:8080";

const protos = fileURLToPath(new URL("../../protos", import.meta.url));
const definition = loader.loadSync("citemesh/api/query/v1/query_service.proto", {
  includeDirs: [protos],
  enums: String,
  oneofs: true,
});
const { QueryService } = grpc.loadPackageDefinition(definition).citemesh.api.query.v1;

const client = new QueryService(target, grpc.credentials.createInsecure());
const metadata = new grpc.Metadata();
metadata.set("authorization", `Bearer ${process.env.CITEMESH_KEY}`);
const call = client.Ask({ question }, metadata, { deadline: Date.now() + 60_000 });

let sources = new Map();
call.on("data", (message) => {
  switch (message.event) {
    case "sources":
      sources = new Map(message.sources.sources.map((source) => [source.number, source]));
      break;
    case "delta":
      process.stdout.write(message.delta.text);
      break;
    case "citation":
      process.stdout.write((message.citation.citations ?? []).map(({ number }) => `[${number}]`).join(""));
      break;
    case "done":
      console.log();
      for (const number of message.done.cited ?? []) {
        console.log(`[${number}] ${sources.get(number).title}  ${sources.get(number).uri}`);
      }
  }
});
call.on("error", (error) => {
  console.error(`${grpc.status[error.code]}: ${error.details}`);
  process.exitCode = 1;
});
