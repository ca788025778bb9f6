import { spawn } from 'node:child_process'
import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * Runs `git http-backend`, git's smart HTTP server, as a CGI program for the repositories below `root`. Hooks get the
 * variables in `env`.
 */
export function runGitBackend(
  root: string,
  request: IncomingMessage,
  response: ServerResponse,
  env: Readonly<Record<string, string>> = {},
): void {
  const url = new URL(request.url ?? '/', 'http://git')
  const backend = spawn('git', ['http-backend'], {
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'agent',
      REMOTE_ADDR: '127.0.0.1',
      ...env,
    },
  })
  request.pipe(backend.stdin)
  backend.stdin.on('error', () => undefined)
  const chunks: Buffer[] = []
  backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  backend.on('close', () => cgiAnswer(Buffer.concat(chunks), response))
}

function cgiAnswer(output: Buffer, response: ServerResponse): void {
  const end = output.indexOf('\r\n\r\n')
  const headers: Record<string, string> = {}
  for (const line of output.subarray(0, Math.max(end, 0)).toString('latin1').split('\r\n')) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  const status = Number(headers['status']?.split(' ')[0] ?? 200)
  delete headers['status']
  response.writeHead(end === -1 ? 500 : status, headers).end(output.subarray(end + 4))
}
