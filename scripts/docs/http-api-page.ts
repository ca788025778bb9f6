import * as z from 'zod'
import { openApiDocument } from '../../controlplane/http/openapi.ts'
import { createRoutes } from '../../controlplane/routes.ts'
import type { Services } from '../../controlplane/services.ts'

const Operation = z.object({
  summary: z.string(),
  tags: z.tuple([z.string()]),
  security: z.array(z.record(z.string(), z.unknown())),
  'x-required-right': z.string().optional(),
})
const Paths = z.record(z.string(), z.record(z.string(), Operation))

/** Returns the documentation page of the HTTP API, from the OpenAPI document that the control plane serves. */
export function httpApiPage(): string {
  const web = { isSecure: true, baseUrl: () => '', installationProof: null }
  const { paths } = openApiDocument(createRoutes(unreadServices(), web), { version: '', url: '' })
  const operations = Object.entries(Paths.parse(paths)).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  )
  const sections = [...Map.groupBy(operations, ({ tags: [tag] }) => tag)].map(([tag, list]) =>
    [
      `## ${tag}`,
      '',
      '| Operation | Does | Authentication | Right |',
      '|---|---|---|---|',
      ...list.map(
        ({ method, path, summary, security, 'x-required-right': right }) =>
          `| \`${method.toUpperCase()} ${path}\` | ${summary.replaceAll('|', '\\|')} | ${security.flatMap(Object.keys).join(', ')} | ${right === undefined ? '' : `\`${right}\``} |`,
      ),
    ].join('\n'),
  )
  return [
    '# HTTP API',
    'The control plane serves the OpenAPI document with all parameters, bodies and answers at `/api/openapi.json`. [Rights](rights.md) explains the last column, [API](api.md) the conventions.',
    ...sections,
    '',
  ].join('\n\n')
}

/** Returns a stand-in for the services: routes read services only while they answer a request. */
function unreadServices(): Services {
  const standIn: object = new Proxy(() => undefined, { get: () => standIn, apply: () => standIn })
  return standIn as Services
}
