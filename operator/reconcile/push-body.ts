import { manifestOrigin } from '../../core/crd/manifests/manifest-origin.ts'
import { API_VERSION, type ResourceKind } from '../../core/crd/schemas.ts'
import type { PushBody } from '../../core/wire/operator.ts'
import type { Credential } from '../cluster/credentials.ts'
import type { OurObject } from '../cluster/custom-resources.ts'
import { keyOf } from '../kube/objects.ts'

/** What the control plane is to hold for one object. Of its metadata: the name, and where the manifest is kept. */
export function desiredBody(
  kind: ResourceKind,
  object: OurObject,
  credential: Credential | null,
): PushBody {
  const { metadata, spec } = object
  const { namespace = '', name, uid, generation = 1, creationTimestamp } = metadata
  const resource = { apiVersion: API_VERSION, kind, metadata: { name, namespace }, spec }
  return {
    uid,
    generation,
    source: 'kubernetes',
    managed_by: `kubernetes ${kind} ${keyOf(object)}`,
    origin: manifestOrigin(metadata),
    resource: resource as PushBody['resource'],
    ...(creationTimestamp === undefined ? {} : { created_at: creationTimestamp }),
    ...(credential === null || credential.value === undefined ? {} : { credential: credential.value }),
  }
}
