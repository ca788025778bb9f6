import { FIELD_MANAGER } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { pathOf } from '../kube/objects.ts'
import type { GuardObject } from './policies.ts'

const BASE = '/apis/admissionregistration.k8s.io/v1'
const PLURALS = {
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
} as const

/** The state of one object that what is written was made from. */
export type Basis = { readonly name: string; readonly resourceVersion: string }

/**
 * Makes the API server hold exactly these policies and bindings; the same again changes nothing. Rejects with `conflict`
 * when somebody has written the object of `basis` since.
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
      path: pathOf({ base: BASE, plural: PLURALS[object.kind] }, undefined, object.metadata.name),
      query: { fieldManager: FIELD_MANAGER, force: true },
      contentType: 'application/apply-patch+yaml',
      body: isBased
        ? { ...object, metadata: { ...metadata, resourceVersion: basis.resourceVersion } }
        : object,
    })
  }
}
