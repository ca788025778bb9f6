import { describe, expect, it } from 'vitest'
import type { BodyView } from '../../../../core/connectors/connector.ts'
import { otherFields } from '../../../../core/connectors/fields/other-fields.ts'

const json = (value: unknown): BodyView => ({ kind: 'json', value })
const none = { parameters: {}, leftOut: [] }

describe('further fields of a body besides the named parameters', () => {
  it('is every field that is not shown with the same value', () => {
    const body = json({ amount: 5, metadata: { order: 7 }, title: 'a' })
    expect(otherFields(body, { parameters: { amount: 5, title: 'of the path' }, leftOut: [] })).toEqual({
      metadata: { order: 7 },
      title: 'a',
    })
  })

  it('of a form takes text for the number it spells, and two of a name as a list', () => {
    const form: BodyView = {
      kind: 'form',
      fields: [
        ['amount', '5'],
        ['metadata[a]', 'x'],
        ['expand[]', 'one'],
        ['expand[]', 'two'],
      ],
    }
    expect(otherFields(form, { parameters: { amount: 5 }, leftOut: [] })).toEqual({
      'metadata[a]': 'x',
      'expand[]': ['one', 'two'],
    })
  })

  it('leaves out the agent’s credential and shows no secret at any depth', () => {
    const config = { url: 'u', client_secret: 'hush', credentials: { list: [{ pin: '1234' }] } }
    const body = json({ token: 'own', config, max_tokens: 9 })
    const shown = otherFields(body, { parameters: {}, leftOut: ['token'] })
    expect(shown).toEqual({
      config: {
        url: 'u',
        client_secret: '(not shown: 4 characters)',
        credentials: { list: [{ pin: '(not shown: 4 characters)' }] },
      },
      max_tokens: 9,
    })
  })

  it('is the whole value if it is not an object, and null without further fields', () => {
    expect(otherFields(json([1, 2]), none)).toEqual({ body: [1, 2] })
    expect(otherFields(json({ a: 1 }), { parameters: { a: 1 }, leftOut: [] })).toBeNull()
    expect(otherFields({ kind: 'opaque' }, none)).toBeNull()
  })

  it('fits a page for every body: beginnings with their lengths, and a count of omitted fields', () => {
    const text = 'x'.repeat(100_000)
    const shown = otherFields(json({ short: 1, text }), none)
    expect(shown).toEqual({ short: 1, text: `${'x'.repeat(500)}… (100000 characters)` })
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`field${n}`, 'y'.repeat(40)]))
    const cut = otherFields(json(many), none) ?? {}
    expect(JSON.stringify(cut).length).toBeLessThan(40_000)
    expect(Object.keys(cut).length - 1 + Number(cut['further_fields'])).toBe(5_000)
  })
})
