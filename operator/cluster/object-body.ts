import { manifestOrigin } from '../../core/crd/manifests/manifest-origin.ts'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import type { PushBody } from '../../core/wire/operator/operator.ts'
import { keyOf } from '../kube/objects.ts'
import { pushBody } from '../reconcile/push-body.ts'
import { withoutDefaults } from '../reconcile/without-defaults.ts'
import type { Credential } from './credentials.ts'
import type { CustomResource } from './custom-resources.ts'

/**
 * Returns the body that pushes a custom resource. The body does not contain the labels and annotations of the
 * resource; they only determine the field `origin` of the body.
 */
export function objectBody(
  kind: ResourceKind,
  object: CustomResource,
  credential: Credential | null,
): PushBody {
  const { namespace = '', name, uid, generation = 1, creationTimestamp } = object.metadata
  return pushBody({
    uid,
    generation,
    source: 'kubernetes',
    managedBy: `kubernetes ${kind} ${keyOf(object)}`,
    origin: manifestOrigin(object.metadata),
    kind,
    metadata: { name, namespace },
    spec: withoutDefaults(kind, object.spec),
    credential: credential?.value,
    createdAt: creationTimestamp,
  })
}
