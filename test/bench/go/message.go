package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// message is an HTTP/1.1 message of which only the start line, the credential and the length of the body are read.
type message struct {
	startLine     string
	authorization string
}

// readMessage reads one message with its body, framed by Content-Length or by chunks.
func readMessage(reader *bufio.Reader) (message, error) {
	var read message
	line, err := reader.ReadSlice('\n')
	if err != nil {
		return read, err
	}
	read.startLine = string(bytes.TrimRight(line, "\r\n"))
	length := 0
	isChunked := false
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return read, err
		}
		if len(line) <= 2 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return read, err
			}
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			isChunked = true
		case bytes.EqualFold(name, []byte("authorization")):
			read.authorization = string(bytes.TrimSpace(value))
		}
	}
	if isChunked {
		return read, discardChunks(reader)
	}
	_, err = reader.Discard(length)
	return read, err
}

func discardChunks(reader *bufio.Reader) error {
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return fmt.Errorf("chunk size %q: %w", line, err)
		}
		if _, err := io.CopyN(io.Discard, reader, size+2); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}
