import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { RequestOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ClientCertificate } from '../client/client.ts'
import type { Kubectl } from './kubectl.ts'

const POD_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'

type Variable =
  | 'CHAPERONE_URL'
  | 'CHAPERONE_TOKEN'
  | 'CHAPERONE_CLIENT_CERT'
  | 'CHAPERONE_CLIENT_KEY'
  | 'NODE_EXTRA_CA_CERTS'

/** A connection to the control plane of a cluster, with the identity of the user of kubectl. */
export type Connection = AsyncDisposable & {
  /** Environment variables for a command that uses the connection. */
  readonly env: Readonly<Record<Variable, string>>
}

/**
 * Opens a port-forward to the control plane. Rejects when the cluster has no installation, and when the kubeconfig has
 * neither a token nor a client certificate.
 */
export async function openConnection(kubectl: Kubectl, namespace: string): Promise<Connection> {
  const [caller, ca] = await Promise.all([callerOf(kubectl), readCa(kubectl, namespace)])
  const forward = await kubectl.forward(namespace, 'chaperone-control-plane', 443)
  const folder = await mkdtemp(join(tmpdir(), 'kubectl-chaperone-'))
  const caFile = join(folder, 'ca.crt')
  await writeFile(caFile, ca)
  return {
    env: {
      CHAPERONE_URL: `https://localhost:${forward.port}`,
      NODE_EXTRA_CA_CERTS: caFile,
      // Sets both kinds of credentials, because the shell may export the credentials of another caller.
      CHAPERONE_TOKEN: 'token' in caller ? caller.token : '',
      CHAPERONE_CLIENT_CERT: 'cert' in caller ? caller.cert : '',
      CHAPERONE_CLIENT_KEY: 'cert' in caller ? caller.key : '',
    },
    async [Symbol.asyncDispose]() {
      forward.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type Data = { readonly data?: Readonly<Record<string, string>> }

type Caller = { readonly token: string } | ClientCertificate

/**
 * Returns the identity that kubectl presents to the cluster: a client certificate, which takes precedence as in
 * kubectl, or a bearer token. Both may come from a credential plugin.
 */
async function callerOf(kubectl: Kubectl): Promise<Caller> {
  const options: RequestOptions = {}
  await (await configOf(kubectl)).applyToHTTPSOptions(options)
  const headers = { ...options.headers } as Record<string, string>
  if (Object.keys(headers).some((name) => name.startsWith('Impersonate-'))) throw impersonating()
  const { cert, key } = options
  if (isPem(cert) && isPem(key)) return { cert: cert.toString(), key: key.toString() }
  const { Authorization: authorization = '' } = headers
  const token = /^Bearer (.+)$/i.exec(authorization)?.[1]
  if (token !== undefined) return { token }
  throw unidentified()
}

function unidentified(): ChaperoneError {
  const detail =
    'kubectl has neither a bearer token nor a client certificate for this cluster. Give another context with --context.'
  return new ChaperoneError('unauthorized', { detail })
}

async function configOf(kubectl: Kubectl): Promise<KubeConfig> {
  const config = new KubeConfig()
  const view = ['config', 'view', '--raw', '--flatten', '-o', 'json']
  config.loadFromString(await kubectl.run(...view))
  if (config.contexts.length > 0) config.loadFromString(await kubectl.run(...view, '--minify'))
  // In a pod without a kubeconfig, kubectl uses the ServiceAccount, so this program does the same.
  else if (existsSync(POD_TOKEN)) config.loadFromCluster()
  else throw unidentified()
  return config
}

function impersonating(): ChaperoneError {
  const detail =
    'The context of kubectl impersonates another user, which the control plane does not support. Give another context with --context.'
  return new ChaperoneError('validation', { detail })
}

function isPem(value: unknown): value is string | Buffer {
  return (typeof value === 'string' || Buffer.isBuffer(value)) && value.length > 0
}

async function readCa(kubectl: Kubectl, namespace: string): Promise<string> {
  const map = await kubectl.object<Data>('configmap', 'chaperone-control-plane-authority', '-n', namespace)
  const pem = map?.data?.['ca.crt']
  if (pem !== undefined) return pem
  throw missing(namespace, 'ConfigMap chaperone-control-plane-authority')
}

function missing(namespace: string, what: string): ChaperoneError {
  return new ChaperoneError('not_found', {
    detail: `There is no ${what} in namespace ${namespace}. Install the chart, or give its namespace with --system-namespace.`,
  })
}
