import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Kubectl } from './kubectl.ts'

/** The control plane of a cluster, reached with the rights of whoever runs kubectl. */
export type Connection = AsyncDisposable & {
  /** What the command line needs to speak with it. */
  readonly env: Readonly<Record<'CHAPERONE_URL' | 'CHAPERONE_TOKEN' | 'NODE_EXTRA_CA_CERTS', string>>
}

/** Rejects with what is missing: the installation, or the right to read its administrator's token. */
export async function openConnection(kubectl: Kubectl, namespace: string): Promise<Connection> {
  const [token, ca] = await Promise.all([adminToken(kubectl, namespace), authority(kubectl, namespace)])
  const forward = await kubectl.forward(namespace, 'chaperone-control-plane', 443)
  const folder = await mkdtemp(join(tmpdir(), 'kubectl-chaperone-'))
  const caFile = join(folder, 'ca.crt')
  await writeFile(caFile, ca)
  return {
    env: {
      CHAPERONE_URL: `https://localhost:${forward.port}`,
      CHAPERONE_TOKEN: token,
      NODE_EXTRA_CA_CERTS: caFile,
    },
    async [Symbol.asyncDispose]() {
      forward.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type Data = { readonly data?: Readonly<Record<string, string>> }

async function adminToken(kubectl: Kubectl, namespace: string): Promise<string> {
  const secret = await kubectl.object<Data>('secret', 'chaperone-keys', '-n', namespace)
  const encoded = secret?.data?.['admin.token']
  if (encoded !== undefined) return Buffer.from(encoded, 'base64').toString('utf8').trim()
  throw missing(namespace, 'Secret chaperone-keys')
}

async function authority(kubectl: Kubectl, namespace: string): Promise<string> {
  const map = await kubectl.object<Data>('configmap', 'chaperone-control-plane-authority', '-n', namespace)
  const pem = map?.data?.['ca.crt']
  if (pem !== undefined) return pem
  throw missing(namespace, 'ConfigMap chaperone-control-plane-authority')
}

function missing(namespace: string, what: string): ChaperoneError {
  return new ChaperoneError('not_found', {
    detail: `there is no ${what} in namespace ${namespace}: install the chart, or name its namespace with --system-namespace`,
  })
}
