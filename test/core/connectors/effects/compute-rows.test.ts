import { describe, expect, test } from 'vitest'
import { effectsOf } from '../../../../core/connectors/effects/effects.ts'
import { compileTable } from '../../../../core/connectors/provider-side/table.ts'
import { LLM_A_PROVIDER_SIDE } from '../../../../core/connectors/provider-side/table-a.ts'
import { LLM_B_PROVIDER_SIDE } from '../../../../core/connectors/provider-side/table-b.ts'
import { LLM_C_PROVIDER_SIDE } from '../../../../core/connectors/provider-side/table-c.ts'
import { connectorOfType } from '../../../../core/connectors/registry.ts'

/** Operations with effect classes that need no act of their own, each with the reason. */
const WITHOUT_ACT: Readonly<Record<string, string>> = {
  'llm_a.grader.run':
    'only a grader of type python is a program, and its type has a row; the others compare texts, call a model, or call a URL that has a row',
}

describe.each([LLM_A_PROVIDER_SIDE, LLM_B_PROVIDER_SIDE, LLM_C_PROVIDER_SIDE])(
  'operations of $connector that only compute',
  (table) => {
    const { operations } = compileTable(table)
    const rows = connectorOfType(table.connector).catalogue ?? []
    const withEffects = [
      ...new Set(
        rows
          .filter(({ type, effect }) => effect === 'compute' && (effectsOf(rowAction(type)) ?? []).length > 0)
          .map(({ type }) => type),
      ),
    ]

    test('and have effect classes also have an act of the provider, or a reason why not', () => {
      expect(withEffects.length).toBeGreaterThan(0)
      expect(withEffects.filter((type) => !operations.has(type) && !(type in WITHOUT_ACT))).toEqual([])
    })

    test('and are exempt have effect classes and no act', () => {
      const exempt = Object.keys(WITHOUT_ACT).filter((type) => type.startsWith(`${table.connector}.`))
      expect(exempt.filter((type) => !withEffects.includes(type) || operations.has(type))).toEqual([])
    })
  },
)

function rowAction(type: string) {
  return { type, connector: type.slice(0, type.indexOf('.')), effect: 'compute' as const }
}
