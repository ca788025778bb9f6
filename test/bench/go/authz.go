package main

import (
	"fmt"
	"net"
	"net/http"
)

// authz is the authorization service of Envoy (ext_authz over HTTP): a map look-up among 1,000 permissions, and the
// credential for the upstream in the reply. Prints its port.
func authz() error {
	permissions := map[string]bool{"llm_a.chat.create": true}
	for n := 0; n < 999; n++ {
		permissions[fmt.Sprintf("llm_a.bench_%d.create", n)] = true
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	return http.Serve(listener, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		action := "llm_a.unmapped." + request.Method
		if request.Method == "POST" && request.URL.Path == "/v1/chat/completions" {
			action = "llm_a.chat.create"
		}
		if !permissions[action] {
			response.WriteHeader(http.StatusForbidden)
			return
		}
		response.Header().Set("authorization", "Bearer sk-bench-injected")
	}))
}
