import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { searchPath } from '../run/agent-environment.ts'
import { type Check, ok, warning } from './check.ts'

type Client = {
  readonly program: string
  /**
   * Text that names the HTTP clients of the runtime that `chaperone run` governs, with the environment variables that
   * these clients read.
   */
  readonly works: string
  /** Libraries that bypass the gateway or fail, each with its remedy. */
  readonly bypasses: ReadonlyArray<readonly [library: string, remedy: string]>
}

const CLIENTS: readonly Client[] = [
  {
    program: 'node',
    works:
      'governs every TCP connection, for example of fetch, https, http2, octokit, openai, axios, got, undici, ws, stripe (NODE_OPTIONS, NODE_EXTRA_CA_CERTS)',
    bypasses: [
      [
        'UDP, native addons, clients with their own CA, programs that replace NODE_OPTIONS',
        'chaperone run --capture',
      ],
    ],
  },
  {
    program: 'python3',
    works:
      'governs openai, anthropic, google-genai, slack, httpx, mcp (SSL_CERT_FILE); requests, PyGithub (REQUESTS_CA_BUNDLE)',
    bypasses: [
      ['aiohttp', 'aiohttp.ClientSession(trust_env=True)'],
      ['stripe', "stripe.ca_bundle_path = os.environ['SSL_CERT_FILE']"],
    ],
  },
  {
    program: 'java',
    works: 'governs HttpClient if the program sends the key of the agent to the proxy (JAVA_TOOL_OPTIONS)',
    bypasses: [
      [
        'clients that do not send the key of the agent to the proxy',
        'chaperone run --capture, or an Authenticator with the name and the key in HTTPS_PROXY',
      ],
    ],
  },
  { program: 'go', works: 'governs net/http, go-github (HTTPS_PROXY, SSL_CERT_FILE)', bypasses: [] },
  { program: 'gh', works: 'governed (HTTPS_PROXY, SSL_CERT_FILE)', bypasses: [] },
  { program: 'curl', works: 'governed (HTTPS_PROXY, CURL_CA_BUNDLE)', bypasses: [] },
  {
    program: 'git',
    works: 'governed over HTTPS (HTTPS_PROXY, GIT_SSL_CAINFO)',
    bypasses: [['git over ssh', 'git config --global url."https://github.com/".insteadOf git@github.com:']],
  },
  { program: 'wget', works: 'governed (https_proxy, WGETRC)', bypasses: [] },
  { program: 'deno', works: 'governed (HTTPS_PROXY, DENO_CERT)', bypasses: [] },
  { program: 'cargo', works: 'governed (HTTPS_PROXY, CARGO_HTTP_CAINFO)', bypasses: [] },
]

/**
 * Returns the clients of a runtime that `chaperone run` does not govern, as a phrase; empty when all are governed, null
 * for a runtime without an entry in `CLIENTS`.
 */
export function ungovernedOf(runtime: string, env: NodeJS.ProcessEnv): string | null {
  const client = CLIENTS.find(({ program }) => program === runtime)
  if (client === undefined) return null
  const check = runtime === 'node' ? nodeCheck(client.works, env) : null
  if (check?.state === 'warning') return check.found
  return client.bypasses.map(([library]) => library).join(', ')
}

/**
 * Checks every runtime on PATH: the environment variables that its clients read, and the libraries that bypass the
 * gateway.
 */
export function clientChecks(env: NodeJS.ProcessEnv): Check[] {
  return CLIENTS.filter(({ program }) => isInstalled(program, env)).flatMap(
    ({ program, works, bypasses }) => [
      program === 'node' ? nodeCheck(works, env) : ok(program, works),
      ...bypasses.map(([library, remedy]) =>
        warning(
          `${program}: ${library}`,
          'not governed by the variables: calls bypass the gateway or fail',
          remedy,
        ),
      ),
    ],
  )
}

/** Oldest version of Node in the tests of the preload script, which Node programs load before their own code. */
const OLDEST_NODE = 18

function nodeCheck(works: string, env: NodeJS.ProcessEnv): Check {
  const { NODE_OPTIONS: _own, ...rest } = env
  const asked = spawnSync('node', ['--version'], { encoding: 'utf8', env: rest })
  const major = Number(/^v(\d+)/.exec(asked.stdout ?? '')?.[1] ?? 0)
  if (major >= OLDEST_NODE) return ok('node', works)
  return warning(
    'node',
    `${asked.stdout?.trim() || 'an unknown version'} is too old for the preload script of chaperone run`,
    `install Node ${OLDEST_NODE} or newer, or use chaperone run --capture`,
  )
}

function isInstalled(program: string, env: NodeJS.ProcessEnv): boolean {
  return searchPath(env).some((dir) => {
    try {
      accessSync(join(dir, program), constants.X_OK)
      return true
    } catch (error) {
      if (error instanceof Error && 'code' in error) return false
      throw error
    }
  })
}
