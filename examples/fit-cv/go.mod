module example.com/bregman-fit-cv

go 1.26.5

require github.com/bregman-ml/bregman v0.0.0

require (
	golang.org/x/sys v0.49.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace github.com/bregman-ml/bregman => ../..
