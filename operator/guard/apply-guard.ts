import { FIELD_MANAGER } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { pathOf } from '../kube/objects.ts'
import type { GuardObject } from './policies.ts'

const BASE = '/apis/admissionregistration.k8s.io/v1'
export const GUARD_RESOURCES = {
  ValidatingAdmissionPolicy: { base: BASE, plural: 'validatingadmissionpolicies' },
  ValidatingAdmissionPolicyBinding: { base: BASE, plural: 'validatingadmissionpolicybindings' },
} as const

/** The version of a stored object that a write is based on. */
export type Basis = { readonly name: string; readonly resourceVersion: string }

/**
 * Applies the admission policies and their bindings. Idempotent. Rejects with `conflict` when the object of `basis` has
 * changed since it was read.
 */
export async function applyGuard(
  client: KubeClient,
  objects: readonly GuardObject[],
  basis: Basis | null,
): Promise<void> {
  for (const object of objects) {
    const { metadata } = object
    const isBased = basis?.name === metadata.name && object.kind === 'ValidatingAdmissionPolicy'
    await client.call({
      method: 'PATCH',
      path: pathOf(GUARD_RESOURCES[object.kind], undefined, object.metadata.name),
      query: { fieldManager: FIELD_MANAGER, force: true },
      contentType: 'application/apply-patch+yaml',
      body: isBased
        ? { ...object, metadata: { ...metadata, resourceVersion: basis.resourceVersion } }
        : object,
    })
  }
}
