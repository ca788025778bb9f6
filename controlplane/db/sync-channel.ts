/**
 * PostgreSQL notification channel between replicas. The payload names the changed state (`kill`, `pods`, `mailbox
 * <process id>`, ...); any other payload is the id of an approval.
 */
export const SYNC_CHANNEL = 'chaperone_sync'

/** Payload after a kill switch was stored or lifted. */
export const KILL_PAYLOAD = 'kill'
/** Payload after the operator reported deleted pods or claims. */
export const PODS_PAYLOAD = 'pods'
/** Payload after gateway processes connected, disconnected or acknowledged a kill state. */
export const PROCESSES_PAYLOAD = 'processes'
