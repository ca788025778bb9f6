// Programs of the benchmark B1 that must cost less than the proxies under measurement: the upstream, the load, and the
// authorization service of Envoy. All of them frame HTTP/1.1 by hand or use the standard library only.
package main

import (
	"fmt"
	"os"
)

func main() {
	programs := map[string]func() error{"upstream": upstream, "load": load, "authz": authz}
	if len(os.Args) != 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: bench upstream|load|authz")
		os.Exit(2)
	}
	if err := programs[os.Args[1]](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
