import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { GRANT_LABEL, grantObjectName } from '../../core/crd/manifests/grant-permission.ts'
import { API_VERSION } from '../../core/crd/schemas.ts'
import { ChaperoneError } from '../../core/errors.ts'
import type { GrantObject } from '../../core/wire/operator/grants.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { ControlPlaneClient } from '../control/control-plane-client.ts'
import { createOutageLog } from '../control/outage-log.ts'
import { FIELD_MANAGER } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { pathOf, RESOURCES } from '../kube/objects.ts'
import type { CustomResource, InformerCaches } from './custom-resources.ts'

export type GrantsDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly controlPlane: Pick<ControlPlaneClient, 'grants'>
  readonly permissions: Pick<InformerCaches['Permission'], 'get' | 'list'>
  readonly signal: AbortSignal
  readonly log: Logger
}

/**
 * Maintains a Permission object in the cluster for each grant in force, until the signal is aborted. A Permission that
 * was deleted is not created again, because the push of its deletion revokes the grant. `everyMs`: milliseconds between
 * two comparisons of the Permissions with the grants.
 */
export async function followGrants(deps: GrantsDeps, everyMs: number): Promise<void> {
  const { controlPlane, signal, log } = deps
  const outages = createOutageLog({
    log,
    message:
      'access that approvals gave for a time could not be read from the control plane, so its Permission objects in the cluster may be out of date; retrying',
  })
  while (!signal.aborted) {
    try {
      const grants = await controlPlane.grants(signal)
      await reconcileGrants(deps, grants)
      outages.answered('grants')
    } catch (error) {
      if (!signal.aborted && !isOfOlderControlPlane(error)) outages.failed('grants', error)
    }
    await sleep(everyMs, signal)
  }
}

/**
 * Reports whether the control plane is too old for this call (404). The cluster then shows no grants, and existing
 * Permissions of grants stay.
 */
function isOfOlderControlPlane(error: unknown): boolean {
  return error instanceof ChaperoneError && error.options.extra?.['status'] === 404
}

async function reconcileGrants(deps: GrantsDeps, grants: readonly GrantObject[]): Promise<void> {
  const { permissions } = deps
  const missing = grants.filter((grant) => {
    const object = permissions.get(nameOf(grant))
    const isDeleted = object === undefined ? grant.is_stored : object.metadata.deletionTimestamp !== undefined
    return !isDeleted && !isSame(object, grant)
  })
  const inForce = new Set(grants.map(nameOf))
  const ended = permissions
    .list()
    .filter((object) => isOfGrant(object) && !inForce.has(nameOf(object.metadata)))
  const calls = [
    ...missing.map((grant) => () => write(deps, grant)),
    ...ended.map((object) => () => remove(deps, object)),
  ]
  const failures: unknown[] = []
  // A namespace that is being deleted refuses the write. The Permissions of other namespaces are still
  // written.
  for (const call of calls) await call().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

function nameOf({ namespace = '', name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace}/${name}`
}

/** Reports whether a Permission was written for a grant: its name is derived from the grant id in its label. */
function isOfGrant({ metadata: { name, labels = {} } }: CustomResource<'Permission'>): boolean {
  const id = labels[GRANT_LABEL]
  return id !== undefined && name === grantObjectName(id)
}

function isSame(object: CustomResource<'Permission'> | undefined, grant: GrantObject): boolean {
  if (object === undefined || !isDeepStrictEqual(object.spec, grant.spec)) return false
  const { labels = {}, annotations = {} } = object.metadata
  return hasAll(labels, grant.labels) && hasAll(annotations, grant.annotations)
}

function hasAll(
  present: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(wanted).every(([key, value]) => present[key] === value)
}

async function write({ client, signal }: GrantsDeps, grant: GrantObject): Promise<void> {
  const { namespace, name, labels, annotations, spec } = grant
  await client.call({
    method: 'PATCH',
    path: pathOf(RESOURCES.Permission, namespace, name),
    query: { fieldManager: FIELD_MANAGER, force: true },
    contentType: 'application/apply-patch+yaml',
    body: {
      apiVersion: API_VERSION,
      kind: 'Permission',
      metadata: { namespace, name, labels, annotations },
      spec,
    },
    signal,
  })
}

async function remove({ client, signal }: GrantsDeps, object: CustomResource<'Permission'>): Promise<void> {
  const { namespace = '', name, uid } = object.metadata
  try {
    await client.call({
      method: 'DELETE',
      path: pathOf(RESOURCES.Permission, namespace, name),
      body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
      signal,
    })
  } catch (error) {
    if (!hasCode(error, 'not_found') && !hasCode(error, 'conflict')) throw error
  }
}
