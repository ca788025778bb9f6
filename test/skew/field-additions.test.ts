import { afterAll, describe, expect, test } from 'vitest'
import { type EntrySection, FIELD_ADDITIONS } from '../../core/wire/gateway/sections/field-additions.ts'
import {
  AgentEntry,
  ConnectorEntry,
  GatewaySection,
  PermissionEntry,
  PolicyEntry,
} from '../../core/wire/gateway/sync.ts'
import { fieldPaths } from '../../core/wire/schema/tolerant.ts'
import { frozenPrograms } from './skew-programs.ts'

const SECTIONS = {
  gateway: GatewaySection,
  agents: AgentEntry,
  connectors: ConnectorEntry,
  policies: PolicyEntry,
  permissions: PermissionEntry,
} as const

const frozen = frozenPrograms()
afterAll(() => frozen[Symbol.dispose]())

/** Fields of this version that gateways of the frozen version do not know. Tests of policies do not go to gateways. */
function newFields(section: EntrySection): readonly string[] {
  const known = new Set(frozen.fields[section])
  return [...fieldPaths(SECTIONS[section])].filter(
    (field) => !known.has(field) && !field.startsWith('document.tests.'),
  )
}

describe('fields that older gateways do not read', () => {
  test.each(Object.keys(SECTIONS) as EntrySection[])(
    'each new field of %s has a line that says whether they may ignore it',
    (section) => {
      const stated = FIELD_ADDITIONS.filter((addition) => addition.section === section).map(
        ({ field }) => field,
      )
      const isStated = (field: string) => stated.some((one) => field === one || field.startsWith(`${one}.`))
      expect(newFields(section).filter((field) => !isStated(field))).toEqual([])
    },
  )

  test('each line names a field of its section', () => {
    const isField = ({ section, field }: (typeof FIELD_ADDITIONS)[number]) =>
      fieldPaths(SECTIONS[section]).has(field)
    expect(FIELD_ADDITIONS.filter((addition) => !isField(addition))).toEqual([])
  })

  test('the frozen version has the fields that it is compared by', () => {
    expect(frozen.fields.connectors).toContain('auth.type')
    expect(frozen.fields.policies).toContain('document.rules.conditions')
  })
})
