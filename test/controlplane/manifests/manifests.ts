import { expect } from 'vitest'
import { createSectionLibrary } from '../../../controlplane/sync/sections/library.ts'
import type { ConnectorEntry, PermissionEntry, PolicyEntry } from '../../../core/wire/gateway/sync.ts'
import type { PushReply } from '../../../core/wire/operator/operator.ts'
import type { Enrolled, Replica, World } from '../sync/harness.ts'

export type Kind = 'Gateway' | 'Connector' | 'Permission' | 'Policy'

/** Objects of a cluster, applied as its operator applies them; what gateways would be sent is read from the database. */
export type Manifests = {
  /** `path` is `namespace/name`; `made` says when and as what the cluster made it. */
  apply(
    kind: Kind,
    path: string,
    spec: object,
    credential?: string | null,
    made?: { readonly createdAt: string; readonly uid?: string },
  ): Promise<PushReply>
  remove(kind: Kind, path: string): Promise<boolean>
  outcome(kind: Kind, path: string): Promise<PushReply>
  texts(of: Enrolled): Promise<ReadonlyMap<string, string>>
  connectors(of: Enrolled): Promise<readonly ConnectorEntry[]>
  permissions(of: Enrolled): Promise<readonly PermissionEntry[]>
  policies(of: Enrolled): Promise<readonly PolicyEntry[]>
}

export function createManifests(
  world: World,
  replica: Replica,
  platformNamespaces: ReadonlySet<string> = new Set(),
): Manifests {
  const generations = new Map<string, number>()
  const pathOf = (kind: Kind, path: string) => `/api/operator/objects/${kind}/${path}`
  const section = async <T>(of: Enrolled, name: string) =>
    JSON.parse((await manifests.texts(of)).get(name) ?? '[]') as T
  const manifests: Manifests = {
    async apply(kind, path, spec, credential, made) {
      const [namespace, name] = path.split('/')
      const generation = (generations.get(`${kind}/${path}`) ?? 0) + 1
      generations.set(`${kind}/${path}`, generation)
      const reply = await replica.operator('PUT', pathOf(kind, path), {
        ...{ uid: made?.uid ?? `uid-${kind}-${path}`, generation, source: 'kubernetes' },
        ...(made === undefined ? {} : { created_at: made.createdAt }),
        managed_by: `kubernetes ${kind} ${path}`,
        resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
        ...(credential === undefined ? {} : { credential }),
      })
      expect(reply.status, JSON.stringify(reply.body)).toBe(200)
      return reply.body as PushReply
    },
    async remove(kind, path) {
      const { body } = await replica.operator('DELETE', pathOf(kind, path))
      return body['removed'] as boolean
    },
    async outcome(kind, path) {
      return (await replica.operator('GET', pathOf(kind, path))).body as PushReply
    },
    async texts(of) {
      const library = createSectionLibrary({
        ...{ db: replica.db, keyring: world.keyring, platformNamespaces },
        organisationToken: { read: async () => null, scope: { kind: 'all' } },
        approvalsChat: async () => ({ channel: null, botToken: null }),
      })
      await library.reload()
      return library.of(of.id)?.texts ?? new Map()
    },
    connectors: (of) => section(of, 'connectors'),
    policies: (of) => section(of, 'policies'),
    async permissions(of) {
      const texts = [...(await manifests.texts(of))].filter(([name]) => name.startsWith('permissions.'))
      return texts.flatMap(([, text]) => JSON.parse(text) as PermissionEntry[])
    },
  }
  return manifests
}
