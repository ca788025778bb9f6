import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { freePort } from '../../controlplane/cli/postgres/free-port.ts'
import { eventually } from './eventually.ts'
import { type Program, startProgram, stopAll } from './kube-program.ts'
import { databasesFolder } from './memory-folder.ts'

export type KubeApiServerOptions = {
  /**
   * True also starts the controller manager, which deletes the contents of namespaces, collects garbage, and creates
   * ServiceAccounts.
   */
  readonly withControllers?: boolean
  /** Further flags of kube-apiserver. The last flag of a name takes precedence. */
  readonly args?: readonly string[]
}

export type KubeApiServer = AsyncDisposable & {
  /** `https://127.0.0.1:PORT`. */
  readonly url: string
  readonly caPem: string
  /** Bearer token of a member of `system:masters`. */
  readonly adminToken: string
  readonly kubeconfigPath: string
  /** Audit log of level Metadata: one JSON event a line, with the caller and the request. */
  readonly auditLogPath: string
  /** Folder with the log files of the programs. `api-server.log` has the cause of most failures. */
  readonly folder: string
}

/**
 * Starts kube-apiserver on a random port of 127.0.0.1 with an empty etcd. The server has RBAC, the default admission plugins,
 * ServiceAccount tokens (TokenRequest, TokenReview) and an audit log. The cluster has no nodes, so pods stay Pending.
 */
export async function startKubeApiServer(options: KubeApiServerOptions = {}): Promise<KubeApiServer> {
  const assets = kubeAssets()
  if (assets === null) throw new Error(KUBE_ASSETS_HINT)
  const folder = await mkdtemp(join(databasesFolder(), 'chaperone-kube-'))
  const programs: Program[] = []
  try {
    return await start({ assets, folder, programs, options })
  } catch (error) {
    await stopAll(programs)
    throw error
  }
}

/** Paths of the Kubernetes programs. */
export type KubeAssets = {
  readonly etcd: string
  readonly apiServer: string
  /**
   * Null when the set of test assets does not contain the controller manager. Without it, the contents of deleted namespaces
   * remain, and garbage is not collected.
   */
  readonly controllerManager: string | null
}

/** Explains why a test is skipped, and how to install the missing programs. */
export const KUBE_ASSETS_HINT =
  'no kube-apiserver and etcd: eval "$(go run sigs.k8s.io/controller-runtime/tools/setup-envtest@latest use -p env)"'

/**
 * Returns the programs named by `TEST_ASSET_KUBE_APISERVER`, `TEST_ASSET_ETCD` and `TEST_ASSET_KUBE_CONTROLLER_MANAGER`, else
 * those in the folder `KUBEBUILDER_ASSETS`. Tests of other operators use the same variables. Returns null when the programs
 * are missing, so that a developer can skip the tests. In CI (environment variable `CI`), throws instead.
 */
export function kubeAssets(
  env: Readonly<Record<string, string | undefined>> = process.env,
): KubeAssets | null {
  const folder = env.KUBEBUILDER_ASSETS || '/usr/local/kubebuilder/bin'
  const at = (variable: string | undefined, name: string) => executable(variable || join(folder, name))
  const etcd = at(env.TEST_ASSET_ETCD, 'etcd')
  const apiServer = at(env.TEST_ASSET_KUBE_APISERVER, 'kube-apiserver')
  if (etcd === null || apiServer === null) {
    if (env.CI) throw new Error(KUBE_ASSETS_HINT)
    return null
  }
  return {
    etcd,
    apiServer,
    controllerManager: at(env.TEST_ASSET_KUBE_CONTROLLER_MANAGER, 'kube-controller-manager'),
  }
}

function executable(file: string): string | null {
  try {
    accessSync(file, constants.X_OK)
    return file
  } catch {
    // The file is missing or is not an executable; the caller reports the remedy.
    return null
  }
}

type Start = {
  readonly assets: KubeAssets
  readonly folder: string
  readonly programs: Program[]
  readonly options: KubeApiServerOptions
}

async function start({ assets, folder, programs, options }: Start): Promise<KubeApiServer> {
  const adminToken = randomBytes(24).toString('hex')
  const port = await freePort()
  const url = `https://127.0.0.1:${port}`
  const auditLogPath = join(folder, 'audit.jsonl')
  const kubeconfigPath = join(folder, 'kubeconfig')
  await writeServerFiles(folder, adminToken)
  const run = (name: string, file: string, args: readonly string[]) => {
    const program = startProgram({ name, file, args, log: join(folder, `${name}.log`) })
    programs.push(program)
    return program
  }
  // etcd listens on Unix sockets, because another test could take a TCP port before etcd listens on it.
  const etcd = `unix://${join(folder, 'etcd.sock')}`
  run('etcd', assets.etcd, etcdArgs(folder, etcd, `unix://${join(folder, 'etcd-peer.sock')}`))
  const apiServer = run('api-server', assets.apiServer, [
    ...apiServerArgs(folder, etcd, `${port}`),
    `--audit-log-path=${auditLogPath}`,
    ...(options.withControllers ? [] : ['--disable-admission-plugins=ServiceAccount']),
    ...(options.args ?? []),
  ])
  const certFile = join(folder, 'certs', 'apiserver.crt')
  const caPem = await eventually('the API server writes its certificate', () => readOrNull(certFile))
  await writeFile(kubeconfigPath, kubeconfig(url, caPem, adminToken), { mode: 0o600 })
  const isReady = (path: string) => async () => {
    if (apiServer.hasEnded()) throw new Error(`kube-apiserver ended; see ${folder}/api-server.log`)
    return (await statusOf(`${url}${path}`, caPem, adminToken)) === 200 ? true : null
  }
  await eventually('the API server is ready', isReady('/readyz'))
  await eventually('the namespace default exists', isReady('/api/v1/namespaces/default'))
  if (options.withControllers) {
    run('controller-manager', controllerManager(assets), controllerArgs(folder, kubeconfigPath))
    const account = '/api/v1/namespaces/default/serviceaccounts/default'
    await eventually('the controllers are at work', isReady(account))
  }
  return {
    url,
    caPem,
    adminToken,
    kubeconfigPath,
    auditLogPath,
    folder,
    async [Symbol.asyncDispose]() {
      await stopAll(programs)
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function writeServerFiles(folder: string, adminToken: string): Promise<void> {
  await mkdir(join(folder, 'certs'))
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  await writeFile(join(folder, 'sa.pub'), publicKey)
  await writeFile(join(folder, 'sa.key'), privateKey, { mode: 0o600 })
  await writeFile(join(folder, 'tokens.csv'), `${adminToken},admin,admin,"system:masters"\n`, { mode: 0o600 })
  await writeFile(join(folder, 'audit-policy.json'), JSON.stringify(AUDIT_POLICY))
}

const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'None', users: ['system:apiserver'] }, { level: 'Metadata' }],
}

const NO_MEMBER = 'http://127.0.0.1:1'

function etcdArgs(folder: string, client: string, peer: string): string[] {
  return [
    '--name=test',
    `--data-dir=${join(folder, 'etcd')}`,
    // The data of etcd does not outlive the test, so etcd need not call fsync.
    '--unsafe-no-fsync=true',
    '--log-level=warn',
    `--listen-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    // Addresses for other members of the etcd cluster, which does not have any. The flags require an address with a port.
    `--advertise-client-urls=${NO_MEMBER}`,
    `--initial-advertise-peer-urls=${NO_MEMBER}`,
    `--initial-cluster=test=${NO_MEMBER}`,
  ]
}

function apiServerArgs(folder: string, etcd: string, port: string): string[] {
  return [
    `--etcd-servers=${etcd}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    // kube-apiserver writes its self-signed certificate for 127.0.0.1 to this folder.
    `--cert-dir=${join(folder, 'certs')}`,
    '--endpoint-reconciler-type=none',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--allow-privileged=true',
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${join(folder, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(folder, 'sa.key')}`,
    `--audit-policy-file=${join(folder, 'audit-policy.json')}`,
    '--profiling=false',
    '--shutdown-delay-duration=0s',
  ]
}

function controllerManager(assets: KubeAssets): string {
  if (assets.controllerManager !== null) return assets.controllerManager
  throw new Error(
    'no kube-controller-manager: name one in TEST_ASSET_KUBE_CONTROLLER_MANAGER, of the version of the API server',
  )
}

function controllerArgs(folder: string, kubeconfigPath: string): string[] {
  return [
    `--kubeconfig=${kubeconfigPath}`,
    `--authentication-kubeconfig=${kubeconfigPath}`,
    `--authorization-kubeconfig=${kubeconfigPath}`,
    '--secure-port=0',
    '--leader-elect=false',
    `--service-account-private-key-file=${join(folder, 'sa.key')}`,
    `--root-ca-file=${join(folder, 'certs', 'apiserver.crt')}`,
    '--kube-api-qps=300',
    '--kube-api-burst=600',
  ]
}

/** Returns a kubeconfig as JSON, which is valid YAML. */
function kubeconfig(server: string, caPem: string, token: string): string {
  const ca = Buffer.from(caPem).toString('base64')
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': ca } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  })
}

async function readOrNull(file: string): Promise<string | null> {
  try {
    const text = await readFile(file, 'utf8')
    return text.includes('END CERTIFICATE') ? text : null
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function statusOf(url: string, ca: string, token: string): Promise<number | null> {
  return new Promise((resolve) => {
    const asked = request(url, { ca, headers: { authorization: `Bearer ${token}` } }, (response) => {
      response.resume()
      resolve(response.statusCode ?? null)
    })
    // The server does not listen yet, or closed the connection while it was starting. The caller retries.
    asked.on('error', () => resolve(null))
    asked.end()
  })
}
