// Connects to each case over TLS and prints `HOST ok` or `HOST refused ERROR`.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	var cases []struct {
		Host string
		Port int
	}
	text, _ := os.ReadFile(os.Args[1])
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	pem, _ := os.ReadFile(os.Args[2])
	roots.AppendCertsFromPEM(pem)
	for _, one := range cases {
		address := fmt.Sprintf("127.0.0.1:%d", one.Port)
		connection, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, ServerName: one.Host})
		if err != nil {
			fmt.Println(one.Host, "refused", err)
			continue
		}
		connection.Close()
		fmt.Println(one.Host, "ok")
	}
}
