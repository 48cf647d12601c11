module example.com/bregman-own-images

go 1.26.5

require github.com/bregman-ml/bregman v0.0.0

require (
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/gomlx/compute v0.1.6 // indirect
	github.com/gomlx/go-xla v0.4.5 // indirect
	github.com/gomlx/gomlx v0.28.8 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/exp v0.0.0-20260410095643-746e56fc9e2f // indirect
	golang.org/x/image v0.30.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
	k8s.io/klog/v2 v2.140.0 // indirect
)

replace github.com/bregman-ml/bregman => ../..
