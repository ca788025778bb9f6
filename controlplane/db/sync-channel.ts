/**
 * PostgreSQL notification channel between replicas. The payload names the changed state (`kill`, `pods`, `mailbox
 * <process id>`, ...); any other payload is the id of an approval.
 */
export const SYNC_CHANNEL = 'chaperone_sync'
