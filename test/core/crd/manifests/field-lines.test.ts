import { expect, test } from 'vitest'
import { lineOfReason } from '../../../../core/crd/manifests/field-lines.ts'

const LINES = {
  '': 1,
  spec: 4,
  'spec.domains': 5,
  'spec.domains.0': 6,
  'spec.rules': 7,
  'spec.rules.0.conditions': 9,
}

test.each<[string, number]>([
  ['spec.domains[0]: spec.example.com belongs to the connector a/b already', 6],
  ['spec.rules.0.conditions.0: does not compile', 9],
  ['spec.rules[3]: matches no action', 7],
  ['spec.rules[0] repeats the pattern codehost.* of spec.rules[3]; keep one of them', 7],
  [
    'spec.hardening is standard, which is weaker than the minimum floors.hardening of this installation (strict)',
    4,
  ],
  ['spec: must be an object', 4],
  // Names and hosts that users wrote are no fields.
  ['the host spec.example.com belongs to another connector', 1],
  ['there is no Gateway spec in namespace spec; create it or correct the name', 1],
  ['spec-gateway is missing', 1],
])('the line of the reason "%s" is %i', (reason, line) => {
  expect(lineOfReason(LINES, reason)).toBe(line)
})

test('a reason has no line number if the lines are unknown', () => {
  expect(lineOfReason({}, 'spec.domains[0]: is wrong')).toBeNull()
})
