import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ChaperoneError } from '../../../core/errors.ts'
import { ChatReply } from '../../../core/wire/notifications/notifications.ts'
import { type Route, route } from '../../http/route.ts'
import type { ChatAnswers } from './answers.ts'

const PATH = '/api/integrations/chat'
const BODY_LIMIT = 256 * 1024

export type ChatRouteDeps = { readonly notify: { readonly chatAnswers: ChatAnswers; wake(): void } }

/**
 * Returns the route that receives clicks from the chat provider. The provider expects the status 200 within three
 * seconds and shows any other status to the user as a failure.
 */
export function createChatRoutes({ notify }: ChatRouteDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: PATH,
      auth: 'none',
      summary: 'Answers an approval by a click in the chat; signed by the chat provider',
      bodyLimit: BODY_LIMIT,
      response: ChatReply,
      handler: async ({ raw: { request } }) => {
        if (typeof request.body !== 'string') throw unsupported('application/x-www-form-urlencoded')
        const answer = await notify.chatAnswers.answer({
          body: request.body,
          timestamp: header(request, 'x-slack-request-timestamp'),
          signature: header(request, 'x-slack-signature'),
        })
        notify.wake()
        return answer
      },
    }),
  ]
}

/**
 * Accepts bodies with the media type of a form on this path only. The bodies are not parsed, because the signature
 * covers their bytes.
 */
export function acceptChatForms(app: FastifyInstance): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (request, body, done) => {
      if (request.routeOptions.url === PATH) done(null, body)
      else done(unsupported('application/json'))
    },
  )
}

function header(request: FastifyRequest, name: string): string {
  const value = request.headers[name]
  return typeof value === 'string' ? value : ''
}

function unsupported(wanted: string): ChaperoneError {
  const detail = `Send the body as ${wanted === 'application/json' ? 'JSON' : 'a form'} with Content-Type: ${wanted}.`
  return new ChaperoneError('unsupported_body', { detail })
}
