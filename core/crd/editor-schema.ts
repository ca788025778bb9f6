import * as z from 'zod'
import {
  ConnectorResource,
  GatewayResource,
  PermissionResource,
  PolicyResource,
  SecretResource,
} from './schemas.ts'

/**
 * Returns the JSON Schema of a manifest, for completion and validation in editors. Editors with a YAML language server
 * read `# yaml-language-server: $schema=PATH` at the top of a file.
 */
export function editorSchema(): string {
  const kinds = {
    Gateway: GatewayResource,
    Connector: ConnectorResource,
    Permission: PermissionResource,
    Policy: PolicyResource,
    Secret: SecretResource,
  }
  const $defs = Object.fromEntries(Object.entries(kinds).map(([kind, schema]) => [kind, definition(schema)]))
  const document = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Chaperone manifest',
    type: 'object',
    required: ['apiVersion', 'kind', 'metadata'],
    properties: { kind: { enum: Object.keys(kinds) } },
    oneOf: Object.keys(kinds).map((kind) => ({ $ref: `#/$defs/${kind}` })),
    $defs,
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

/** Returns the JSON Schema of the input, in which fields with a default are optional. */
function definition(schema: z.ZodType): unknown {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return rest
}
