// The stubs are written into this module, under citemesh/api; `go mod tidy` adds grpc and protobuf.
module example.com/citemesh

go 1.23
