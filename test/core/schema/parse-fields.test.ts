import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { PermissionResource } from '../../../core/crd/schemas.ts'
import { fieldProblemText, parseFields } from '../../../core/schema/parse-fields.ts'

const texts = (schema: z.ZodType, value: unknown) =>
  parseFields(schema, value).problems?.map((problem) => fieldProblemText(problem, 'the document')) ?? []

describe('a problem says what the field must be', () => {
  const verdict = z.enum(['allow', 'deny', 'require_approval'])
  test.each<[z.ZodType, unknown, string]>([
    [verdict, 'alow', 'must be allow, deny or require_approval; did you mean allow?'],
    [verdict, 'perhaps', 'must be allow, deny or require_approval'],
    [verdict, undefined, 'is required: allow, deny or require_approval'],
    [z.literal('v1'), 'v2', 'must be v1'],
    [z.string(), undefined, 'is required'],
    [z.string(), 1, 'must be a string, not a number'],
    [z.string(), null, 'must be a string, not null'],
    [z.boolean(), 'yes', 'must be true or false, not a string'],
    [z.number(), Number.NaN, 'must be a finite number'],
    [z.int(), 1.5, 'must be a whole number'],
    [z.array(z.string()), {}, 'must be a list, not an object'],
    [z.object({}), [], 'must be an object, not a list'],
    [z.string().min(1), '', 'must not be empty'],
    [z.string().max(2), 'abc', 'must have at most 2 characters'],
    [z.array(z.string()).min(1), [], 'must have at least 1 element'],
    [z.number().max(5), 9, 'must be at most 5'],
    [z.number().positive(), 0, 'must be more than 0'],
    [z.string().regex(/^a+$/), 'b', 'must match the pattern /^a+$/'],
    [z.string().min(3, 'is too short for a name'), '', 'is too short for a name'],
  ])('%#: %o', (schema, value, wanted) => {
    expect(texts(z.object({ field: schema }), { field: value })).toEqual([`field: ${wanted}`])
  })

  test('of a variant: the names of the variants, with the nearest', () => {
    const shape = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('Gateway') }),
      z.object({ kind: z.literal('Policy') }),
    ])
    expect(texts(shape, { kind: 'Polici' })).toEqual([
      'kind: must be Gateway or Policy; did you mean Policy?',
    ])
    expect(texts(shape, {})).toEqual(['kind: is required: Gateway or Policy'])
    expect(texts(shape, 'Policy')).toEqual(['the document: must be an object, not a string'])
  })
})

test('every problem of a manifest is named, unknown fields with the nearest name', () => {
  const manifest = {
    apiVersion: 'chaperone.dev/v1alpha1',
    kind: 'Permission',
    metadata: { name: 'reads' },
    spec: {
      gatewayRefs: [{ name: 'local' }],
      rules: [{ connectorType: 'codehost', actionPatern: 'codehost.repo.get', decision: 'alow' }],
    },
  }
  expect(texts(PermissionResource, manifest)).toEqual([
    'spec.rules[0].actionPattern: is required',
    'spec.rules[0].decision: must be allow, deny or require_approval; did you mean allow?',
    'unknown field spec.rules[0].actionPatern; did you mean actionPattern?',
  ])
})
