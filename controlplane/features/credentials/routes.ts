import {
  ChangeCredentialReply,
  CredentialList,
  RemoveCredentialQuery,
  RotateCredentialBody,
  SetCredentialBody,
  TestCredentialBody,
  TestCredentialReply,
} from '../../../core/wire/credentials.ts'
import { type Route, route } from '../../http/route.ts'
import { actorOf } from '../audit/actor.ts'
import type { Changed, Credentials } from './service.ts'

export type CredentialRoutesDeps = { readonly credentials: Credentials }

/** Returns the routes of credentials. No reply contains a secret. */
export function createCredentialRoutes({ credentials }: CredentialRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/credentials',
      auth: 'connectors/get',
      isNamespaced: true,
      summary: 'Lists the credentials of connectors, without secrets',
      response: CredentialList,
      handler: async ({ namespaces }) => ({ credentials: [...(await credentials.list(namespaces))] }),
    }),
    route({
      method: 'PUT',
      path: '/api/dashboard/credentials',
      auth: 'credentials/set',
      summary:
        'Stores the credential that a manifest names, or the credential of a connector that was added by the API',
      body: SetCredentialBody,
      response: ChangeCredentialReply,
      handler: async ({ body, principal }) => reply(await credentials.set(actorOf(principal), body)),
    }),
    route({
      method: 'DELETE',
      path: '/api/dashboard/credentials',
      auth: 'credentials/set',
      summary: 'Deletes a stored credential; gateways then refuse all requests to its connectors',
      query: RemoveCredentialQuery,
      statuses: [404],
      response: ChangeCredentialReply,
      handler: async ({ query, principal }) =>
        reply(await credentials.remove(actorOf(principal), query.name)),
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/credentials/rotate',
      auth: 'credentials/set',
      summary: 'Replaces the short-lived secrets of a credential before they expire',
      body: RotateCredentialBody,
      statuses: [404],
      response: ChangeCredentialReply,
      handler: async ({ body, principal }) => reply(await credentials.rotate(actorOf(principal), body.name)),
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/credentials/test',
      auth: 'credentials/set',
      summary:
        'Sends a read request with the credential of a connector, and returns the owner of the credential',
      body: TestCredentialBody,
      statuses: [404],
      response: TestCredentialReply,
      handler: async ({ body, principal, namespaces }) =>
        credentials.test(actorOf(principal), body.connector_id, namespaces),
    }),
  ]
}

function reply({ name, connectors }: Changed) {
  return { ok: true as const, name, connectors: [...connectors] }
}
