import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { searchPath } from '../run/agent-environment.ts'
import { type Check, ok, warning } from './check.ts'

type Client = {
  readonly program: string
  /** What works as `chaperone run` sets it up. */
  readonly works: string
  /** Libraries that go around the gateway or fail, each with the line of code that mends it. */
  readonly around: ReadonlyArray<readonly [library: string, mend: string]>
}

const CLIENTS: readonly Client[] = [
  {
    program: 'node',
    works:
      'every TCP connection: fetch, https, http2, octokit, openai, axios, got, undici, ws, stripe (NODE_OPTIONS, NODE_EXTRA_CA_CERTS)',
    around: [
      [
        'UDP, native addons, clients with a CA of their own, programs that replace NODE_OPTIONS',
        'chaperone run --capture',
      ],
    ],
  },
  {
    program: 'python3',
    works:
      'openai, anthropic, google-genai, slack, httpx, mcp (SSL_CERT_FILE); requests, PyGithub (REQUESTS_CA_BUNDLE)',
    around: [
      ['aiohttp', 'aiohttp.ClientSession(trust_env=True)'],
      ['stripe', "stripe.ca_bundle_path = os.environ['SSL_CERT_FILE']"],
    ],
  },
  {
    program: 'java',
    works: 'HttpClient goes to the proxy and trusts it (JAVA_TOOL_OPTIONS)',
    around: [
      [
        "the agent's key",
        'chaperone run --capture, or an Authenticator in code with the name and the key in HTTPS_PROXY',
      ],
    ],
  },
  { program: 'go', works: 'net/http, go-github (HTTPS_PROXY, SSL_CERT_FILE)', around: [] },
  { program: 'gh', works: 'HTTPS_PROXY, SSL_CERT_FILE', around: [] },
  { program: 'curl', works: 'HTTPS_PROXY, CURL_CA_BUNDLE', around: [] },
  {
    program: 'git',
    works: 'HTTPS_PROXY, GIT_SSL_CAINFO',
    around: [['git over ssh', 'git config --global url."https://github.com/".insteadOf git@github.com:']],
  },
  { program: 'wget', works: 'https_proxy, WGETRC', around: [] },
  { program: 'deno', works: 'HTTPS_PROXY, DENO_CERT', around: [] },
  { program: 'cargo', works: 'HTTPS_PROXY, CARGO_HTTP_CAINFO', around: [] },
]

/** What `chaperone run` does not govern of programs of this runtime, in a few words; null for an unknown one. */
export function ungovernedOf(runtime: string, env: NodeJS.ProcessEnv): string | null {
  const client = CLIENTS.find(({ program }) => program === runtime)
  if (client === undefined) return null
  const check = runtime === 'node' ? nodeCheck(client.works, env) : null
  if (check?.state === 'warning') return check.found
  return client.around.map(([library]) => library).join(', ')
}

/** Every client on PATH: which variables it honours, and what goes around the gateway. */
export function clientChecks(env: NodeJS.ProcessEnv): Check[] {
  return CLIENTS.filter(({ program }) => isInstalled(program, env)).flatMap(({ program, works, around }) => [
    program === 'node' ? nodeCheck(works, env) : ok(program, works),
    ...around.map(([library, mend]) =>
      warning(`${program}: ${library}`, 'ignores the variables, goes around or fails', mend),
    ),
  ])
}

/** The oldest Node on which the preload is tested. */
const OLDEST_NODE = 18

function nodeCheck(works: string, env: NodeJS.ProcessEnv): Check {
  const { NODE_OPTIONS: _own, ...rest } = env
  const asked = spawnSync('node', ['--version'], { encoding: 'utf8', env: rest })
  const major = Number(/^v(\d+)/.exec(asked.stdout ?? '')?.[1] ?? 0)
  if (major >= OLDEST_NODE) return ok('node', works)
  return warning(
    'node',
    `${asked.stdout?.trim() || 'an unknown version'} is older than the preload of chaperone run supports`,
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
