/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 answers the others in the order in which they come, as a parameter server does: a probe for any message, a receive, a
 * send. Nothing marks steps. The others send three gradients in each of 24 turns, and receive three answers, by tag.
 * mpi_server [FAULT [ahead|after|turned]]: rank 1 in its 15th turn, which comes before most of the others' turns, or after them.
 * turned: before them, and rank 2's turns come before rank 3's 12 times, then after them
 *
 *   tag        sends the third one with a tag that the server takes for the first one's
 *   missing    leaves the second one out
 *   extra      receives once more
 *   dtype      sends the second one as integers
 *   room       receives the second answer into half of the room
 *   exit       ends, with 0
 *   stop       is stopped
 *   unanswered gets no answer to the second one: the server's fault
 *   kill       ends, by SIGKILL
 */
#include "app.h"
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

enum { TURNS = 24, LAYERS = 3, WIDEST = 200, WHEN = 14 };

static const int width[LAYERS] = {96, WIDEST, 57};
static const char *fault = "", *pace = "";

static bool is(const char *what, int turn, int layer)
{
	return app_rank == 1 && turn == WHEN && layer == 1 && strcmp(fault, what) == 0;
}

/* us; the others' 15th turns come one after the other, unless they are told to be late. */
static unsigned pause_of_turn(int turn)
{
	bool turned = strcmp(pace, "turned") == 0;
	bool late = strcmp(pace, "ahead") == 0 || turned
			    ? app_rank != 1
			    : strcmp(pace, "after") == 0 && app_rank == 1;
	unsigned own = 1000 + 700 * (unsigned)app_rank;

	if (turned && app_rank > 1)
		own = turn == 0 ? 20000 * (unsigned)(app_rank - 2)
				: 40000 * (unsigned)(turn == 12 && app_rank == 2);
	return late ? 50000 + own : own;
}

static void answer_gradients(int workers)
{
	float gradient[WIDEST], weights[WIDEST] = {0};
	MPI_Status at;
	int of_first = 0;

	for (int left = workers * TURNS * LAYERS; left; left--) {
		int layer;

		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &at);
		layer = at.MPI_TAG % LAYERS;
		MPI_Recv(gradient, width[layer], MPI_FLOAT, at.MPI_SOURCE, at.MPI_TAG,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < width[layer]; i++)
			weights[i] -= 0.1f * gradient[i];
		if (at.MPI_SOURCE == 1 && of_first++ == WHEN * LAYERS + 1 &&
			strcmp(fault, "unanswered") == 0)
			continue;
		MPI_Send(weights, width[layer], MPI_FLOAT, at.MPI_SOURCE, 30 + layer,
			MPI_COMM_WORLD);
	}
}

static void send_gradients(int turn)
{
	float gradient[WIDEST];

	for (int layer = 0; layer < LAYERS; layer++) {
		for (int i = 0; i < width[layer]; i++)
			gradient[i] = (float)(turn * 3 + layer + i * app_rank) / 7;
		if (is("exit", turn, layer))
			exit(0);
		if (is("stop", turn, layer))
			raise(SIGSTOP);
		if (is("kill", turn, layer))
			raise(SIGKILL);
		if (!is("missing", turn, layer))
			MPI_Send(gradient, width[layer],
				is("dtype", turn, layer) ? MPI_INT : MPI_FLOAT, 0,
				is("tag", turn, layer - 1) ? LAYERS : layer, MPI_COMM_WORLD);
	}
}

static void receive_weights(int turn)
{
	float weights[WIDEST];

	for (int layer = 0; layer < LAYERS; layer++)
		for (int n = 1 + is("extra", turn, layer); n; n--)
			MPI_Recv(weights, is("room", turn, layer) ? width[layer] / 2 : width[layer],
				MPI_FLOAT, 0, 30 + layer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	fault = argc > 1 ? argv[1] : "";
	pace = argc > 2 ? argv[2] : "";
	if (app_rank == 0)
		answer_gradients(app_size - 1);
	for (int turn = 0; app_rank && turn < TURNS; turn++) {
		usleep(pause_of_turn(turn));
		send_gradients(turn);
		receive_weights(turn);
	}
	app_say("done");
	MPI_Finalize();
	return 0;
}
