package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
)

// upstream answers every request with 1 KiB of JSON over TLS. Environment: CERT_FILE, KEY_FILE. Prints its port. For each
// line on the standard input it prints how many requests arrived, and how many of them had the credential.
func upstream() error {
	certificate, err := tls.LoadX509KeyPair(os.Getenv("CERT_FILE"), os.Getenv("KEY_FILE"))
	if err != nil {
		return err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{certificate},
		NextProtos:   []string{"http/1.1"},
	})
	if err != nil {
		return err
	}
	var requests, withCredential atomic.Int64
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go answer(connection, &requests, &withCredential)
		}
	}()
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		fmt.Println(requests.Load(), withCredential.Load())
	}
	return nil
}

func answer(connection net.Conn, requests, withCredential *atomic.Int64) {
	defer connection.Close()
	body := `{"id":"chatcmpl-1","object":"chat.completion","pad":"` + strings.Repeat("x", 960) + `"}`
	reply := []byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	reader := bufio.NewReaderSize(connection, 16*1024)
	for {
		request, err := readMessage(reader)
		if err != nil {
			return
		}
		requests.Add(1)
		if request.authorization == "Bearer sk-bench-injected" {
			withCredential.Add(1)
		}
		if _, err := connection.Write(reply); err != nil {
			return
		}
	}
}
