module chaperone.dev/bench

go 1.19
