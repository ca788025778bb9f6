import type { WorkTable } from './table.ts'

/**
 * Work that llm_a continues after its response, with the cancelling operations. Source: types of `openai` 7.57.0
 * (npm), read 2026-11-28. The id of a realtime call that starts over WebRTC is the end of the header `Location`
 * (developers.openai.com/api/docs/guides/realtime-server-controls, read 2026-11-28).
 */
export const LLM_A_WORK: WorkTable = {
  connector: 'llm_a',
  kinds: `
    response         POST  responses  responses/{id}/cancel
    run              POST  threads    threads/{thread_id}/runs/{id}/cancel
    agent_session    POST  agents     agents/sessions/{id}/events
    automation       POST  agents     agents/automations/{id}/pause
    chatkit_session  POST  chatkit    chatkit/sessions/{id}/cancel
    live_session     POST  live       live/sessions/{id}/hangup
    realtime_call    POST  realtime   realtime/calls/{id}/hangup
    eval_run         POST  evals      evals/{eval_id}/runs/{id}/cancel
    fine_tuning_job  POST  fine_tuning  fine_tuning/jobs/{id}/cancel
    vector_store_batch  POST  vector_stores  vector_stores/{vector_store_id}/file_batches/{id}/cancel
    batch            POST  batches    batches/{id}/cancel
    # No operation cancels a video: DELETE /v1/videos/{id} accepts completed and failed videos only.
    video            -
  `,
  starts: `
    response.create          response         hosted_agent.run  id=id
    response.create_stream   response         hosted_agent.run  id=response.id
    run.create               run              -                 id=id  thread_id=thread_id
    run.submit_tool_outputs  run              -                 id=id  thread_id=thread_id
    agent_session.create     agent_session    -                 id=id
    agent_session.send_event  agent_session   -                 id=segment:sessions
    agent_automation.create  automation       -                 id=id
    agent_automation.resume  automation       -                 id=id
    automation_invocation.create  agent_session  -              id=session_id
    chatkit_session.create   chatkit_session  -                 id=id
    live_session.create      live_session     -                 id=session.id
    live_session.fork        live_session     -                 id=session.id
    live_session.accept      live_session     -                 id=segment:sessions
    realtime_call.create     realtime_call    -                 id=header:location
    realtime_call.accept     realtime_call    -                 id=segment:calls
    eval_run.create          eval_run         -                 id=id  eval_id=segment:evals
    finetune.create          fine_tuning_job  -                 id=id
    finetune.resume          fine_tuning_job  -                 id=segment:jobs
    vector_store_batch.create  vector_store_batch  -            id=id  vector_store_id=segment:vector_stores
    batch.create             batch            -                 id=id
    video.create             video            -                 id=id
    video.remix              video            -                 id=id
    video.edit               video            -                 id=id
    video.extend             video            -                 id=id
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
    realtime_call.hangup     realtime_call
    realtime_call.reject     realtime_call
    eval_run.cancel          eval_run
    eval_run.delete          eval_run
    eval_run.get             eval_run         completed,failed,canceled
    finetune.cancel          fine_tuning_job
    finetune.pause           fine_tuning_job
    finetune.get             fine_tuning_job  succeeded,failed,cancelled
    vector_store_batch.cancel  vector_store_batch
    vector_store_batch.get   vector_store_batch  completed,failed,cancelled
    video.get                video            completed,failed
    video.download           video
    video.delete             video
    batch.cancel             batch
    batch.get                batch            completed,failed,cancelled,expired
  `,
  batches: ['batch'],
  bodies: { agent_session: { events: [{ type: 'agent.session.input.cancel' }] } },
  headers: ['openai-beta', 'openai-organization', 'openai-project'],
}
