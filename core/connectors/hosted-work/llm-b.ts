import type { WorkTable } from './table.ts'

export const LLM_B_WORK: WorkTable = {
  connector: 'llm_b',
  kinds: `
    session     POST  sessions|deployments  sessions/{id}/events
    deployment  POST  deployments           deployments/{id}/pause
    dream       POST  dreams                dreams/{id}/cancel
    batch       POST  messages              messages/batches/{id}/cancel
  `,
  starts: `
    session.create      session     -  id=id
    session_event.send  session     -  id=segment:sessions
    deployment.run      session     -  id=session_id
    deployment.create   deployment  -  id=id
    deployment.unpause  deployment  -  id=id
    dream.create        dream       -  id=id
    batch.create        batch       -  id=id
  `,
  ends: `
    session.delete      session
    session.archive     session
    session.get         session     terminated
    deployment.pause    deployment
    deployment.archive  deployment
    dream.cancel        dream
    dream.get           dream       completed,failed,canceled,cancelled
    batch.cancel        batch
  `,
  batches: ['batch'],
  bodies: { session: { events: [{ type: 'user.interrupt' }] } },
  headers: ['anthropic-version', 'anthropic-beta'],
}
