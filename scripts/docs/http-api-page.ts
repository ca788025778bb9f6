import * as z from 'zod'
import { openApiDocument } from '../../controlplane/http/openapi.ts'
import { createRoutes } from '../../controlplane/routes.ts'
import type { Services } from '../../controlplane/services.ts'
import { type ApiField, apiFields, typeText } from './api-fields.ts'
import { headingSlug } from './site/heading-slug.ts'

const Schema = z.record(z.string(), z.unknown())
const Content = z.record(z.string(), z.object({ schema: Schema }))
const Operation = z.object({
  summary: z.string(),
  tags: z.tuple([z.string()]),
  security: z.array(z.record(z.string(), z.unknown())),
  'x-required-right': z.string().optional(),
  parameters: z.array(
    z.object({ name: z.string(), in: z.enum(['path', 'query']), required: z.boolean(), schema: Schema }),
  ),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string(), content: Content })),
})
const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({
    securitySchemes: z.record(z.string(), z.object({ description: z.string() })),
    schemas: z.object({ Error: Schema }),
  }),
})
type Operation = z.infer<typeof Operation> & { readonly title: string }

/** Returns the pages of the HTTP API by path: an overview, and a page for each group of operations. */
export function httpApiPages(): ReadonlyArray<readonly [path: string, text: string]> {
  const { paths, components } = documentOfRoutes()
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ ...each, title: `${method.toUpperCase()} ${path}` })),
  )
  const groups = [...Map.groupBy(operations, ({ tags: [tag] }) => tag)]
  return [
    ['http-api.md', overviewPage(groups, components)],
    ...groups.map(([tag, list]) => [pathOf(tag), groupPage(tag, list)] as const),
  ]
}

function pathOf(tag: string): string {
  return `http-api/${tag.replaceAll('.', '-')}.md`
}

function documentOfRoutes(): z.infer<typeof Document> {
  const web = { isSecure: true, baseUrl: () => '', installationProof: null }
  return Document.parse(openApiDocument(createRoutes(unreadServices(), web), { version: '', url: '' }))
}

type Groups = ReadonlyArray<readonly [tag: string, list: readonly Operation[]]>

function overviewPage(
  groups: Groups,
  { securitySchemes, schemas }: z.infer<typeof Document>['components'],
): string {
  const sections = groups.map(([tag, list]) => {
    const rows = list.map((each) => {
      const { title, summary } = each
      const right = each['x-required-right']
      const link = `[\`${title}\`](${pathOf(tag)}#${headingSlug(title)})`
      return [link, summary, schemesOf(each), right === undefined ? '' : `\`${right}\``]
    })
    return `## ${tag}\n\n${table(['Operation', 'Does', 'Authentication', 'Right'], rows)}`
  })
  return page([
    '# HTTP API',
    'Each operation with its parameters, request, reply and errors, from the OpenAPI document that the control plane serves at `/api/openapi.json`. [Rights](rights.md) explains the last column, [API](api.md) the conventions.',
    ...sections,
    '## Authentication',
    table(
      ['Name', 'Credential'],
      Object.entries(securitySchemes).map(([name, { description }]) => [`\`${name}\``, description]),
    ),
    '## Errors',
    'The body of an error, except where the operation names another one.',
    fieldTable(apiFields(schemas.Error)),
  ])
}

function groupPage(tag: string, operations: readonly Operation[]): string {
  return page([`# HTTP API: ${tag}`, '[All operations](../http-api.md)', ...operations.map(operationSection)])
}

function operationSection(operation: Operation): string {
  const { title, summary, parameters, requestBody, responses } = operation
  const right = operation['x-required-right']
  const schemes = schemesOf(operation)
  const caller = schemes === '' ? 'No authentication.' : `Authentication: ${schemes}.`
  return [
    // The title is formatted as code, because VitePress reads braces at the end of a heading as attributes.
    `## \`${title}\``,
    `${summary}. ${caller}${right === undefined ? '' : ` Right: \`${right}\`.`}`,
    ...block('Parameters', parameters.length === 0 ? '' : parameterTable(parameters)),
    ...block('Request', requestBody === undefined ? '' : bodyText(requestBody.content)),
    ...block('Reply', bodyText(responses['200']?.content ?? {})),
    ...block('Errors', errorsText(responses)),
  ].join('\n\n')
}

function block(heading: string, text: string): readonly string[] {
  return text === '' ? [] : [`### ${heading}`, text]
}

function parameterTable(parameters: Operation['parameters']): string {
  const rows = parameters.map(({ name, in: place, required, schema }) => [
    `\`${name}\`${required ? ' (required)' : ''}`,
    place,
    typeText(schema),
    String(schema['description'] ?? ''),
  ])
  return table(['Parameter', 'In', 'Type', 'Description'], rows)
}

function bodyText(content: z.infer<typeof Content>): string {
  const texts = Object.entries(content).map(([type, { schema }]) => {
    const fields = apiFields(schema)
    const head = type === 'application/json' ? '' : `\`${type}\`\n\n`
    return `${head}${fields.length === 0 ? `${typeText(schema)} without fixed fields.` : fieldTable(fields)}`
  })
  return texts.join('\n\n')
}

function errorsText(responses: Operation['responses']): string {
  const failures = Object.entries(responses).filter(([status]) => status !== '200')
  const list = failures.map(([status, { description }]) => `${status} \`${description}\``).join(', ')
  const own = failures.flatMap(([status, { content }]) => {
    const schema = content['application/json']?.schema
    return schema === undefined || '$ref' in schema
      ? []
      : [`Body of ${status}:\n\n${fieldTable(apiFields(schema))}`]
  })
  return [list === '' ? '' : `${list}.`, ...own].filter((text) => text !== '').join('\n\n')
}

function fieldTable(fields: readonly ApiField[]): string {
  const rows = fields.map(({ path, type, isRequired, description }) => [
    `\`${path.replace(/^\./, '')}\`${isRequired ? '' : ' (optional)'}`,
    type,
    description,
  ])
  return table(['Field', 'Type', 'Description'], rows)
}

function schemesOf({ security }: Pick<Operation, 'security'>): string {
  return security.flatMap(Object.keys).join(', ')
}

function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('\n', ' ').replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}

function page(parts: readonly string[]): string {
  return [...parts, ''].join('\n\n')
}

/**
 * Returns a placeholder for the services. The routes use services only while they answer a request, and here no request
 * is sent.
 */
function unreadServices(): Services {
  const standIn: object = new Proxy(() => undefined, { get: () => standIn, apply: () => standIn })
  return standIn as Services
}
