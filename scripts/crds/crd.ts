import { stringify } from 'yaml'
import * as z from 'zod'
import { structural } from './structural.ts'

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
  readonly columns: readonly PrinterColumn[]
}

const GROUP = 'chaperone.dev'
const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }

/** The committed text of one CustomResourceDefinition. */
export function crdText(source: CrdSource): string {
  const { kind, plural, shortName } = source
  const definition = {
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
  return `# Generated from core/crd/schemas.ts by npm run generate; edits are lost.\n${stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false })}`
}

function version({ spec, description, columns }: CrdSource) {
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
          spec: structural(z.toJSONSchema(spec, { io: 'input', target: 'openapi-3.0' })),
          status: STATUS,
        },
      },
    },
  }
}

/** The same for every kind: conditions, and the newest generation that was looked at. */
const STATUS = {
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
  properties: {
    observedGeneration: { type: 'integer', format: 'int64' },
    conditions: {
      type: 'array',
      maxItems: 32,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: {
        type: 'object',
        required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
        properties: {
          type: { type: 'string', maxLength: 316 },
          status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
          observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
          lastTransitionTime: { type: 'string', format: 'date-time' },
          reason: { type: 'string', minLength: 1, maxLength: 1024 },
          message: { type: 'string', maxLength: 32768 },
        },
      },
    },
  },
} as const
