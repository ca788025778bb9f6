import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const HERE = new URL('.', import.meta.url).pathname
const SUITE = join(HERE, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')

/** Installs the suite on the first use; it is no dependency of the product. Answers why it cannot, or null. */
export function installSuite(): string | null {
  if (existsSync(SUITE)) return null
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
  try {
    execFileSync('npm', args, { cwd: HERE, stdio: 'ignore', timeout: 120_000 })
    return null
  } catch (error) {
    return `npm cannot install @modelcontextprotocol/conformance: ${error instanceof Error ? error.message : error}`
  }
}

/** Scenario -> its checks, each as `id: status`, in order. */
export type SuiteResult = Readonly<Record<string, readonly string[]>>

/** Runs every server scenario against one address, directly or through a proxy. */
export async function runSuite(url: string, proxy?: string): Promise<SuiteResult> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))
  const args = [SUITE, 'server', '--url', url, '--suite', 'all', '--output-dir', folder]
  const throughProxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, NO_PROXY: '', no_proxy: '' }
  const env = { ...process.env, ...(proxy === undefined ? {} : throughProxy) }
  try {
    // It exits with 1 when a check fails; what failed stands in its files.
    await new Promise((done) => execFile(process.execPath, args, { timeout: 300_000, env }, done))
    const runs = readdirSync(folder).map((name) => [scenarioOf(name), checksIn(join(folder, name))] as const)
    return Object.fromEntries(runs.sort(([a], [b]) => a.localeCompare(b)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `server-<scenario>-<time>`. */
function scenarioOf(folder: string): string {
  return folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
}

type Check = { readonly id: string; readonly status: string }

/** What only tells what was seen on the wire has no verdict. */
function checksIn(folder: string): string[] {
  const checks = JSON.parse(readFileSync(join(folder, 'checks.json'), 'utf8')) as Check[]
  return checks.filter(({ status }) => status !== 'INFO').map(({ id, status }) => `${id}: ${status}`)
}
