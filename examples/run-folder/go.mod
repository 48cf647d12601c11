module example.com/bregman-run-folder

go 1.26.5

require github.com/bregman-ml/bregman v0.0.0

replace github.com/bregman-ml/bregman => ../..
