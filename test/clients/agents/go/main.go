// One call of Go's net/http, unmodified, reported as one JSON line.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	base := "https://api.github.com/repos/acme/site"
	calls := map[string][3]string{
		"allowed": {"POST", base + "/issues", `{"title":"hello"}`},
		"denied":  {"DELETE", base + "/git/refs/heads%2Ffeature", ""},
		"held":    {"PUT", base + "/pulls/7/merge", `{"merge_method":"squash"}`},
	}
	call := calls[os.Args[1]]
	request, err := http.NewRequest(call[0], call[1], strings.NewReader(call[2]))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "token "+os.Getenv("GITHUB_TOKEN"))
	request.Header.Set("Content-Type", "application/json")
	out := map[string]any{}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		out["ok"], out["message"] = false, err.Error()
	} else {
		body, _ := io.ReadAll(answer.Body)
		out["ok"], out["status"], out["message"] = answer.StatusCode < 300, answer.StatusCode, string(body)
	}
	line, _ := json.Marshal(out)
	fmt.Println(string(line))
}
