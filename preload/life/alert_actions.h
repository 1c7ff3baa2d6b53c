/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_LIFE_ALERT_ACTIONS_H
#define PROBE_LIFE_ALERT_ACTIONS_H

/* Registers what alerts of this process may do (training/alerts/alerts.h). */
void alert_actions_set(void);

#endif
