package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// load sends the bytes of REQUEST_FILE over TUNNELS connections in closed loop until REQUESTS of them were answered 200.
// Environment: PORT, HOST (name of the upstream), VIA (connect: through a CONNECT tunnel; reverse: directly),
// PROXY_AUTHORIZATION (may be empty). Certificates are not verified: the check of the same job does that.
func load() error {
	request, err := os.ReadFile(os.Getenv("REQUEST_FILE"))
	if err != nil {
		return err
	}
	tunnels, err := strconv.Atoi(os.Getenv("TUNNELS"))
	if err != nil {
		return fmt.Errorf("TUNNELS: %w", err)
	}
	requests, err := strconv.ParseInt(os.Getenv("REQUESTS"), 10, 64)
	if err != nil {
		return fmt.Errorf("REQUESTS: %w", err)
	}
	connections := make([]net.Conn, tunnels)
	for n := range connections {
		if connections[n], err = openTunnel(); err != nil {
			return err
		}
		defer connections[n].Close()
	}
	var left atomic.Int64
	left.Store(requests)
	failures := make(chan error, tunnels)
	var running sync.WaitGroup
	for _, connection := range connections {
		running.Add(1)
		go func(connection net.Conn) {
			defer running.Done()
			if err := closedLoop(connection, request, &left); err != nil {
				failures <- err
			}
		}(connection)
	}
	running.Wait()
	close(failures)
	return <-failures
}

func closedLoop(connection net.Conn, request []byte, left *atomic.Int64) error {
	reader := bufio.NewReaderSize(connection, 16*1024)
	for left.Add(-1) >= 0 {
		if _, err := connection.Write(request); err != nil {
			return err
		}
		reply, err := readMessage(reader)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(reply.startLine, "HTTP/1.1 200") {
			return fmt.Errorf("answered %s", reply.startLine)
		}
	}
	return nil
}

func openTunnel() (net.Conn, error) {
	host := os.Getenv("HOST")
	connection, err := net.Dial("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		return nil, err
	}
	if os.Getenv("VIA") == "connect" {
		if err := sendConnect(connection, host); err != nil {
			return nil, err
		}
	}
	secured := tls.Client(connection, &tls.Config{
		ServerName: host, NextProtos: []string{"http/1.1"}, InsecureSkipVerify: true,
	})
	return secured, secured.Handshake()
}

func sendConnect(connection net.Conn, host string) error {
	key := os.Getenv("PROXY_AUTHORIZATION")
	if key != "" {
		key = "Proxy-Authorization: " + key + "\r\n"
	}
	if _, err := fmt.Fprintf(connection, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n%s\r\n", host, host, key); err != nil {
		return err
	}
	// The proxy sends nothing after its reply before the client's TLS begins, so no byte of TLS is lost in the buffer.
	reply, err := readMessage(bufio.NewReader(connection))
	if err == nil && !strings.Contains(reply.startLine, " 200") {
		err = fmt.Errorf("CONNECT was answered %s", reply.startLine)
	}
	return err
}
