import { stringify } from 'yaml'
import * as z from 'zod'
import { type RuleTexts, withRuleTexts } from './rule-texts.ts'
import { type Schema, structural } from './structural.ts'

export type PrinterColumn = {
  readonly name: string
  readonly type: string
  readonly jsonPath: string
  readonly priority?: number
}

export type CrdSource = {
  readonly kind: string
  readonly plural: string
  readonly shortName: string
  readonly description: string
  readonly spec: z.ZodType
  readonly status: z.ZodType
  readonly rules: RuleTexts
  readonly columns: readonly PrinterColumn[]
}

const GROUP = 'chaperone.dev'
const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }

/** Returns the YAML text of one CustomResourceDefinition. */
export function crdText(source: CrdSource): string {
  return `# Generated from core/crd by npm run generate; edits are lost.\n${stringify(crd(source), { lineWidth: 0, aliasDuplicateObjects: false })}`
}

export function crd(source: CrdSource) {
  const { kind, plural, shortName } = source
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ['chaperone'],
      },
      versions: [version(source)],
    },
  }
}

function version({ spec, status, rules, description, columns }: CrdSource) {
  return {
    name: 'v1alpha1',
    served: true,
    storage: true,
    subresources: { status: {} },
    additionalPrinterColumns: [...columns, AGE],
    schema: {
      openAPIV3Schema: {
        type: 'object',
        description,
        required: ['spec'],
        properties: {
          apiVersion: { type: 'string' },
          kind: { type: 'string' },
          metadata: { type: 'object' },
          spec: withRuleTexts(openApi(spec), rules),
          status: withRuleTexts(openApi(status), CONDITIONS_BY_TYPE),
        },
      },
    },
  }
}

/**
 * Makes `conditions` a list map with the key `type`. In server-side apply, each writer then owns only the conditions of
 * its types.
 */
const CONDITIONS_BY_TYPE: RuleTexts = { cross: [], lists: [{ path: ['conditions'], keys: ['type'] }] }

function openApi(schema: z.ZodType): Schema {
  return structural(z.toJSONSchema(schema, { io: 'input', target: 'openapi-3.0' }))
}
