import { spawn } from 'node:child_process'
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { eventually } from '../../support/eventually.ts'
import { buildGoModule } from '../../support/go-module.ts'
import { hasCommand } from '../../support/has-command.ts'
import { apply, type KubeObject, kube } from '../kubectl.ts'

const MODULE = 'sigs.k8s.io/agent-sandbox'
const VERSION = 'v0.5.6'
const PROGRAM = 'agent-sandbox-controller'
const NAMESPACE = 'agent-sandbox-system'
export const CONTROLLER_USER = `system:serviceaccount:${NAMESPACE}:${PROGRAM}`

/** The controller of agent-sandbox with its definitions and its rights, as a process on this machine. */
export type SandboxController = AsyncDisposable & { readonly log: () => string }

export const hasGo = hasCommand('go')

/** Builds the controller from its Go module, once for each user; installs its objects; starts it as its ServiceAccount. */
export async function startSandboxController(): Promise<SandboxController> {
  const { source, folder: programs } = await buildGoModule({
    ...{ module: MODULE, version: VERSION },
    programs: { [PROGRAM]: `./cmd/${PROGRAM}` },
  })
  const definitions = objectsIn(join(source, 'k8s/crds')).map(withoutConversion)
  await apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    ...definitions,
    ...rights(source),
  )
  for (const { metadata } of definitions)
    await kube(['wait', '--for=condition=Established', '--timeout=30s', `crd/${metadata.name}`])
  const folder = mkdtempSync(join(tmpdir(), 'agent-sandbox-'))
  const logFile = join(folder, 'log')
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, await kubeconfigOfAccount(), { mode: 0o600 })
  const flags = ['--extensions', '--enable-webhook=false', '--leader-elect=false', '--metrics-bind-address=0']
  const output = openSync(logFile, 'w')
  const child = spawn(
    join(programs, PROGRAM),
    [...flags, '--health-probe-bind-address=0', `--kubeconfig=${kubeconfig}`],
    {
      stdio: ['ignore', output, output],
    },
  )
  const log = () => readFileSync(logFile, 'utf8')
  const ended = new Promise((resolve) => child.once('exit', resolve))
  await eventually('the controller of agent-sandbox works', () =>
    log().includes('Starting workers') ? true : null,
  ).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  return {
    log,
    async [Symbol.asyncDispose]() {
      // Without an API server the program ignores SIGTERM.
      child.kill('SIGKILL')
      await ended
      await kube(['delete', 'crd', ...definitions.map(({ metadata }) => metadata.name), '--timeout=60s'])
      await kube(['delete', 'namespace', NAMESPACE, '--timeout=60s'])
      const named = rights(source).filter(({ metadata }) => metadata.namespace === undefined)
      await kube([
        'delete',
        ...named.map(({ kind, metadata }) => `${kind}/${metadata.name}`),
        '--ignore-not-found',
      ])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function objectsIn(...paths: readonly string[]): readonly KubeObject[] {
  const files = paths.flatMap((path) =>
    path.endsWith('.yaml') ? [path] : readdirSync(path).map((name) => join(path, name)),
  )
  return files
    .flatMap((file) => parseAllDocuments(readFileSync(file, 'utf8')))
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null)
}

/** The versions have the same fields here, and the webhook that converts them is not installed. */
function withoutConversion(object: KubeObject): KubeObject {
  const { spec } = object as unknown as { spec: object }
  return { ...object, spec: { ...spec, conversion: { strategy: 'None' } } }
}

function rights(source: string): readonly KubeObject[] {
  const files = ['rbac.generated', 'extensions-rbac.generated', 'controller', 'extensions']
  const kinds = ['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']
  return objectsIn(...files.map((name) => join(source, `k8s/${name}.yaml`))).filter(({ kind }) =>
    kinds.includes(kind),
  )
}

async function kubeconfigOfAccount(): Promise<string> {
  const token = (await kube(['create', 'token', PROGRAM, '-n', NAMESPACE, '--duration=2h'])).trim()
  const config = JSON.parse(
    await kube(['config', 'view', '--raw', '--minify', '--flatten', '-o', 'json']),
  ) as {
    users: unknown[]
    contexts: { context: { user: string } }[]
  }
  const [context] = config.contexts
  if (context === undefined) throw new Error('the kubeconfig has no context')
  return JSON.stringify({
    ...config,
    users: [{ name: PROGRAM, user: { token } }],
    contexts: [{ ...context, context: { ...context.context, user: PROGRAM } }],
  })
}
