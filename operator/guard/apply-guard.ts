import { FIELD_MANAGER } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { pathOf } from '../kube/objects.ts'
import type { GuardObject } from './policies.ts'

const BASE = '/apis/admissionregistration.k8s.io/v1'
const PLURALS = {
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
} as const

/** Makes the API server hold exactly these policies and bindings; the same again changes nothing. */
export async function applyGuard(client: KubeClient, objects: readonly GuardObject[]): Promise<void> {
  for (const object of objects) {
    await client.call({
      method: 'PATCH',
      path: pathOf({ base: BASE, plural: PLURALS[object.kind] }, undefined, object.metadata.name),
      query: { fieldManager: FIELD_MANAGER, force: true },
      contentType: 'application/apply-patch+yaml',
      body: object,
    })
  }
}
