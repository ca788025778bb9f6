import type { WorkTable } from './table.ts'

export const LLM_A_WORK: WorkTable = {
  connector: 'llm_a',
  kinds: `
    response         POST  responses  responses/{id}/cancel
    run              POST  threads    threads/{thread_id}/runs/{id}/cancel
    agent_session    -
    automation       POST  agents     agents/automations/{id}/pause
    chatkit_session  POST  chatkit    chatkit/sessions/{id}/cancel
    live_session     POST  live       live/sessions/{id}/hangup
    batch            POST  batches    batches/{id}/cancel
  `,
  starts: `
    response.create          response         hosted_agent.run  id=id
    response.create_stream   response         hosted_agent.run  id=response.id
    run.create               run              -                 id=id  thread_id=thread_id
    agent_session.create     agent_session    -                 id=id
    agent_automation.create  automation       -                 id=id
    agent_automation.resume  automation       -                 id=id
    chatkit_session.create   chatkit_session  -                 id=id
    live_session.create      live_session     -                 id=id
    batch.create             batch            -                 id=id
  `,
  ends: `
    response.cancel          response
    response.delete          response
    response.get             response         completed,failed,cancelled,incomplete
    run.cancel               run
    run.get                  run              completed,failed,cancelled,incomplete,expired
    agent_session.delete     agent_session
    agent_automation.pause   automation
    agent_automation.delete  automation
    chatkit_session.cancel   chatkit_session
    live_session.hangup      live_session
    live_session.reject      live_session
    batch.cancel             batch
    batch.get                batch            completed,failed,cancelled,expired
  `,
  batches: ['batch'],
  headers: ['openai-beta', 'openai-organization', 'openai-project'],
}
