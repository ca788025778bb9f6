import { expect, test } from 'vitest'
import type { AdmissionRequest } from '../../../operator/webhook/admission-review.ts'
import { reviewManifest } from '../../../operator/webhook/review-manifest.ts'

const warningsOf = (kind: 'Policy' | 'Permission', spec: object): readonly string[] => {
  const resource = kind === 'Policy' ? 'policies' : 'permissions'
  const review = reviewManifest({
    ...{ uid: 'u', operation: 'CREATE', namespace: 'team', name: 'n' },
    resource: { group: 'chaperone.dev', version: 'v1alpha1', resource },
    object: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name: 'n', namespace: 'team' }, spec },
  } as AdmissionRequest)
  expect(review.allowed).toBe(true)
  return review.warnings ?? []
}
const permission = (connectorType: string, actionPattern: string, decision = 'allow') =>
  warningsOf('Permission', {
    gatewayRefs: [{ name: 'main' }],
    rules: [{ connectorType, actionPattern, decision }],
  })
const policy = (action: string, decision: string) =>
  warningsOf('Policy', { scope: { actions: [action] }, rules: [{ name: 'r', decision }] })

test.each([
  ['codehost', 'codehost.pr.mrege', 'Did you mean codehost.pr.merge?'],
  ['codehost', 'codehost.PR.merge', 'allows nothing'],
  ['codehost', 'chat.message.post', 'never matches'],
  ['generic', 'generic.GET', 'allows nothing'],
])('kubectl shows why a permission of %s for %s never matches', (type, pattern, wanted) => {
  expect(permission(type, pattern)).toEqual([expect.stringContaining(wanted)])
})

test('kubectl shows why a policy never matches', () => {
  expect(policy('codehost.pr.mrege', 'deny')).toEqual([expect.stringContaining('codehost.pr.merge?')])
  expect(policy('codehost.PR.merge', 'allow')).toEqual([expect.stringContaining('allows nothing')])
})

test('kubectl shows nothing about patterns that match', () => {
  expect(permission('codehost', 'codehost.pr.*')).toEqual([])
  expect(permission('codehost', 'codehost.PR.merge', 'deny')).toEqual([])
  expect(policy('codehost.PR.merge', 'deny')).toEqual([])
})
