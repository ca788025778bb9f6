import type { WorkTable } from './table.ts'

export const CHAT_WORK: WorkTable = {
  connector: 'chat',
  kinds: `
    scheduled_message  POST  chat.scheduleMessage  chat.deleteScheduledMessage
  `,
  starts: `
    message.schedule  scheduled_message  -  id=scheduled_message_id  channel=channel
  `,
  ends: `
    message.unschedule  scheduled_message
  `,
  bodies: { scheduled_message: { channel: '{channel}', scheduled_message_id: '{id}' } },
  errorMember: 'error',
}
