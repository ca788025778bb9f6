import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OWNER_LINK_LIFE_MS, ownerLinkData } from '../../../core/wire/access/owner-link.ts'
import { randomToken } from '../../crypto/tokens.ts'
import type { KubeApi } from './kube-api.ts'
import type { Kubectl } from './kubectl.ts'

/**
 * Name of the Secret with the owner link. While the installation has no owner, a user who can write this Secret can
 * become the owner.
 */
export const OWNER_LINK_SECRET = 'chaperone-owner-link'
/** Key of the dashboard's address for users, in the ConfigMap with the control plane's CA. */
export const PUBLIC_URL_KEY = 'public-url'
export const DEFAULT_PUBLIC_URL = 'https://localhost:3443'

/** Creates the Secret with a new owner link. Returns false, and changes nothing, when the Secret exists. */
export async function ensureOwnerLink(api: KubeApi, namespace: string, publicUrl: string): Promise<boolean> {
  const path = `/api/v1/namespaces/${namespace}/secrets`
  if ((await api.call('GET', `${path}/${OWNER_LINK_SECRET}`)) !== null) return false
  await api.call('POST', path, newSecret(namespace, publicUrl))
  return true
}

/**
 * Replaces the owner link in the Secret and returns the new link. The user of kubectl needs the right `update` on the
 * Secret.
 */
export async function renewOwnerLink(kubectl: Kubectl, namespace: string): Promise<string> {
  const secret = newSecret(namespace, await publicUrlOf(kubectl, namespace))
  const folder = await mkdtemp(join(tmpdir(), 'kubectl-chaperone-'))
  try {
    const file = join(folder, 'secret.json')
    await writeFile(file, JSON.stringify(secret), { mode: 0o600 })
    // Replaces the Secret with PUT, because `kubectl apply` would store the token in an annotation.
    const path = `/api/v1/namespaces/${namespace}/secrets/${OWNER_LINK_SECRET}`
    await kubectl.run('replace', '--raw', path, '-f', file)
    return secret.stringData.link
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function newSecret(namespace: string, publicUrl: string) {
  const expiresAt = new Date(Date.now() + OWNER_LINK_LIFE_MS).toISOString()
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: OWNER_LINK_SECRET, namespace, labels: { 'app.kubernetes.io/part-of': 'chaperone' } },
    type: 'Opaque',
    stringData: ownerLinkData(randomToken(), publicUrl, expiresAt),
  }
}

type ConfigMap = { readonly data?: Readonly<Record<string, string>> }

async function publicUrlOf(kubectl: Kubectl, namespace: string): Promise<string> {
  const name = 'chaperone-control-plane-authority'
  // The right to read the ConfigMap is optional. Without the right, the link has the default address.
  const found = await kubectl.object<ConfigMap>('configmap', name, '-n', namespace).catch(() => null)
  return found?.data?.[PUBLIC_URL_KEY] || DEFAULT_PUBLIC_URL
}
